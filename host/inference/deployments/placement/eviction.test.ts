import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Placement, PlacementLedger } from '../../devices/index.ts';
import { chooseVictims } from './eviction.ts';

const Eviction = suite('the choice of replicas that make room');

const MACHINE = { gpus: ['a', 'b'].map((id) => ({ id, name: id, memoryBytes: 80e9 })), memoryBytes: 64e9 };

/** Returns a ledger with these shares taken, one replica each. The spread policy puts each on the emptier GPU. */
function taken(...gpus: readonly number[]): { ledger: PlacementLedger; placements: Placement[] } {
  const ledger = new PlacementLedger(MACHINE);
  const placements = gpus.map((share, index) =>
    ledger.place({ deployment: `d${index}`, gpus: share, reservedBytes: 0 }),
  );
  return { ledger, placements: placements.filter((placement) => placement !== undefined) };
}

/** Returns the indices of the victims for one more replica with this share. `usedAt` has the last use of each. */
function victims(
  shares: readonly number[],
  usedAt: readonly (number | undefined)[],
  wanted: number,
): number[] | undefined {
  const { ledger, placements } = taken(...shares);
  const candidates = placements.flatMap((placement, index) =>
    usedAt[index] === undefined ? [] : [{ placement, index, lastUsedAt: usedAt[index] }],
  );
  const fits = (given: readonly Placement[]): boolean =>
    ledger.without(given).place({ deployment: 'new', gpus: wanted, reservedBytes: 0 }) !== undefined;
  return chooseVictims(candidates, fits)?.map(({ index }) => index);
}

Eviction('ends no replica when there is room', () => assert.equal(victims([1], [1], 1), []));
Eviction('ends the least recently used', () => assert.equal(victims([1, 1], [20, 10], 0.5), [1]));
Eviction('ends no more than necessary', () => assert.equal(victims([0.5, 0.5, 0.5, 0.5], [1, 2, 3, 4], 0.5), [0]));
Eviction('spares an older one that would not help', () =>
  assert.equal(victims([0.5, 1, 0.3], [1, 2, undefined], 1), [1]),
);
Eviction('ends several when one is not enough', () => assert.equal(victims([1, 1], [1, 2], 2), [0, 1]));
Eviction('ends no replica when all together are not enough', () =>
  assert.is(victims([1, 1], [1, undefined], 2), undefined),
);

Eviction.run();
