import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readWorld } from '../bindings/read-world.ts';
import { capabilityNames } from '../capabilities/catalogue.ts';
import { worldFile } from './build-plugin.ts';
import { guestWorld } from './guest-world.ts';

const World = suite('the world of a plugin');
const whole = readFileSync(worldFile, 'utf8');

for (const absent of capabilityNames)
  World(`has no function of ${absent} if the plugin does not ask for it, and all others`, () => {
    const world = guestWorld(
      whole,
      capabilityNames.filter((name) => name !== absent),
    );
    const isThere = world.includes(`use ${absent}.{`);
    for (const { name, functions } of readWorld(world)) if (name === absent && isThere) assert.equal(functions, []);
    const others = (text: string) => readWorld(text).filter(({ name }) => name !== absent);
    assert.equal(others(world), others(whole));
    assert.is(world.includes(`import ${absent};`), isThere);
  });

World('without capabilities can be read', () => {
  assert.ok(readWorld(guestWorld(whole, [])).length > 0);
});

World.run();
