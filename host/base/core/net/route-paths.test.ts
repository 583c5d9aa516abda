import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { matchPath, overlap, PathTree } from './route-paths.ts';

const Paths = suite('paths of endpoints');

let seed = 7;
const below = (most: number): number => Math.floor(((seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647) * most);
const oneOf = <T>(all: readonly T[]): T => all[below(all.length)]!;
const pathOf = (segments: readonly string[]): string =>
  `/${['a', ...Array.from({ length: below(4) }, () => oneOf(segments))].join('/')}`;

Paths('are found in a tree where comparing them one after the other finds them', () => {
  let found = 0;
  for (let round = 0; round < 300; round++) {
    const templates: string[] = [];
    const tree = new PathTree<string>();
    for (let n = 0; n < 12; n++) {
      const template = pathOf(['a', 'b', '{x}', '{y}']);
      if (templates.some((other) => overlap(other, template))) continue;
      templates.push(template);
      tree.set(template, template);
    }
    for (let n = 0; n < 50; n++) {
      const path = pathOf(['a', 'b', 'c', '', '%ff', '%62', '__proto__']);
      const wanted = templates.find((template) => matchPath(template, path));
      assert.is(tree.find(path), wanted, `${path} of ${templates.join(' ')}`);
      if (wanted !== undefined) found += 1;
    }
    for (const template of templates) assert.is(tree.find(template), template);
  }
  assert.ok(found > 2000 && found < 13_000, String(found));
});

Paths.run();
