import { randomInt } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { changedComponents, fuzzComponents } from './fixtures/component-fuzz.ts';

const Fuzz = suite('changed components');

Fuzz('are refused with a sentence or run, and nothing crashes', async () => {
  const seed = randomInt(2 ** 31);
  process.stdout.write(`seed ${seed}\n`);
  const { refused, ran } = await fuzzComponents(seed, 60, await changedComponents());
  assert.ok(refused > 0 && Object.keys(ran).length > 0, JSON.stringify({ refused, ran }));
});

Fuzz.run();
