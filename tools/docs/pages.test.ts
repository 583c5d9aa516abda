import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../host/base/core/package-root.ts';
import { allRoutes } from '../../host/apis/http/fixtures/all-routes.ts';
import { documentedRoutes } from '../../host/apis/http/fixtures/documented-routes.ts';
import { tagOf } from '../../host/apis/openapi/index.ts';
import { PAGES } from './pages.ts';

const Docs = suite('the generated pages of the documentation');

for (const [name, render] of Object.entries(PAGES))
  Docs(`${name} is what \`npm run docs\` writes`, () => {
    assert.is(readFileSync(join(packageRoot, 'docs', name), 'utf8'), render());
  });

Docs('have each parameter of a route in one state', () => {
  for (const { route, fields } of [...documentedRoutes('openai', 'body'), ...documentedRoutes('anthropic', 'body')]) {
    const both = Object.keys(fields.idle).filter((name) => Object.hasOwn(fields.schema.shape, name));
    assert.equal(both, [], route);
  }
});

Docs('have the parameters of each body of a model API', () => {
  const left = allRoutes.filter(
    (route) => ['openai', 'anthropic'].includes(tagOf(route)) && (route.body ?? route.form) && !route.idle,
  );
  assert.equal(
    left.map(({ id }) => id),
    [],
  );
});

Docs.run();
