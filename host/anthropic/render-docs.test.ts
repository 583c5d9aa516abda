import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../core/package-root.ts';
import { DOCUMENTED_ROUTES, renderAnthropicDocs } from './render-docs.ts';

const Docs = suite('the page about Anthropic’s API');

Docs('matches docs/anthropic-compatibility.md, which `aana-host docs anthropic` writes', () => {
  assert.is(readFileSync(join(packageRoot, 'docs/anthropic-compatibility.md'), 'utf8'), renderAnthropicDocs());
});

Docs('has each parameter in one state', () => {
  for (const { route, fields } of DOCUMENTED_ROUTES) {
    const both = Object.keys(fields.idle).filter((name) => Object.hasOwn(fields.schema.shape, name));
    assert.equal(both, [], route);
  }
});

Docs.run();
