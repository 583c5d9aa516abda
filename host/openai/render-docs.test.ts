import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../core/package-root.ts';
import { DOCUMENTED_ROUTES, renderOpenAiDocs } from './render-docs.ts';

const Docs = suite('the page about OpenAI’s API');

Docs('matches docs/openai-compatibility.md, which `aana-host docs openai` writes', () => {
  assert.is(readFileSync(join(packageRoot, 'docs/openai-compatibility.md'), 'utf8'), renderOpenAiDocs());
});

Docs('has each parameter in one state', () => {
  for (const { route, fields } of DOCUMENTED_ROUTES) {
    const both = Object.keys(fields.idle).filter((name) => Object.hasOwn(fields.schema.shape, name));
    assert.equal(both, [], route);
  }
});

Docs.run();
