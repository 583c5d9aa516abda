import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../core/package-root.ts';
import { renderErrorDocs } from './render-error-docs.ts';

const Docs = suite('the page of errors');

Docs('matches the table; `aana-host docs errors > docs/errors.md` regenerates it', () => {
  assert.is(readFileSync(join(packageRoot, 'docs/errors.md'), 'utf8'), renderErrorDocs());
});

Docs.run();
