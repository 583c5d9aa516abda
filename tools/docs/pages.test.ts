import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../host/core/package-root.ts';
import { DOCUMENTED_ROUTES } from '../../host/openai/documented-routes.ts';
import { ANTHROPIC_DOCUMENTED_ROUTES } from './anthropic.ts';
import { PAGES } from './pages.ts';

const Docs = suite('the generated pages of the documentation');

for (const [name, render] of Object.entries(PAGES))
  Docs(`${name} is what \`npm run docs\` writes`, () => {
    assert.is(readFileSync(join(packageRoot, 'docs', name), 'utf8'), render());
  });

Docs('have each parameter of a route in one state', () => {
  for (const { route, fields } of [...DOCUMENTED_ROUTES, ...ANTHROPIC_DOCUMENTED_ROUTES]) {
    const both = Object.keys(fields.idle).filter((name) => Object.hasOwn(fields.schema.shape, name));
    assert.equal(both, [], route);
  }
});

Docs.run();
