import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Random } from '../../../test/simulation/random.ts';
import { HeldModels } from './held-models.ts';
import { chooseReplica } from './replica-choice.ts';

const Choice = suite('the choice of a replica');

function member(name: string, ongoing: number, ids: readonly string[], running: readonly string[] = []) {
  const models = new HeldModels();
  models.told(ids);
  for (const id of running) models.begin(id);
  return { name, ongoing, models };
}

Choice('by a model is one that has it, and room, or else one with the fewest models', () => {
  const random = new Random(5);
  const some = (most: number): string[] => Array.from({ length: random.int(0, most) }, () => `m${random.int(1, 6)}`);
  for (let round = 0; round < 2000; round += 1) {
    const members = Array.from({ length: random.int(1, 5) }, (_, n) =>
      member(`r${n}`, random.int(0, 4), some(3), some(2)),
    );
    const id = `m${random.int(1, 6)}`;
    const chosen = chooseReplica(members, { multiplexedModelId: id, affinity: 'any' }, 3, random.next);
    const free = members.filter(({ ongoing }) => ongoing < 3);
    if (free.length === 0) assert.is(chosen, undefined);
    else if (free.some(({ models }) => models.has(id))) assert.ok(chosen?.models.has(id));
    else assert.is(chosen?.models.size, Math.min(...free.map(({ models }) => models.size)));
    assert.ok((chosen?.ongoing ?? 0) < 3);
  }
});

Choice('counts models that a replica has told, and those of its running calls, once', () => {
  const { models } = member('r', 0, ['a', 'b'], ['b', 'c', 'c']);
  assert.equal([models.size, models.has('c')], [3, true]);
  models.end('c');
  assert.ok(models.has('c'), 'one more call runs');
  models.end('c');
  assert.equal([models.size, models.has('c'), models.ids], [2, false, ['a', 'b']]);
  models.told([]);
  assert.equal([models.size, models.has('b')], [1, true]);
});

Choice('without a model is the less busy of two different ones', () => {
  const random = new Random(6);
  const seen = new Set<string>();
  for (let round = 0; round < 2000; round += 1) {
    const members = Array.from({ length: random.int(1, 4) }, (_, n) => member(`r${n}`, random.int(0, 4), []));
    const chosen = chooseReplica(members, {}, 4, random.next);
    const free = members.filter(({ ongoing }) => ongoing < 4);
    const most = free.map(({ ongoing }) => ongoing).sort((a, b) => b - a);
    // Of all but one at least one is less busy than the busiest.
    if (free.length > 1) assert.ok(chosen && chosen.ongoing <= most[1]!);
    else assert.is(chosen, free[0]);
    if (chosen) seen.add(chosen.name);
  }
  assert.is(seen.size, 4, 'each is chosen at times');
});

Choice.run();
