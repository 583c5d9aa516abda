import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { drained, flatMapped, flattened } from './async-values.ts';

const Values = suite('async iterables with a return value');

/** Yields the batches and returns `end`; notes in `closed` that it was left or has ended. */
async function* batches(closed: string[], fails = false): AsyncGenerator<number[], string> {
  try {
    yield [1, 2];
    yield [];
    yield [3];
    if (fails) throw new Error('broken');
    return 'end';
  } finally {
    closed.push('closed');
  }
}

async function rejection(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'it did not reject',
    (error: Error) => error.message,
  );
}

Values('are drained one after the other, and return their value', async () => {
  const taken: number[][] = [];
  const result = await drained(batches([]), async (batch) => {
    await Promise.resolve();
    taken.push(batch);
  });
  assert.equal([result, taken], ['end', [[1, 2], [], [3]]]);
});

Values('are closed when the taker throws', async () => {
  const closed: string[] = [];
  const taking = drained(batches(closed), () => {
    throw new Error('full');
  });
  assert.equal([await rejection(taking), closed], ['full', ['closed']]);
});

Values('keep their return value when they are mapped or flattened', async () => {
  const seen: unknown[] = [];
  assert.is(await drained(flattened(batches([])), (value) => void seen.push(value)), 'end');
  assert.is(
    await drained(
      flatMapped(batches([]), ({ length }) => [length]),
      (value) => void seen.push(value),
    ),
    'end',
  );
  assert.equal(seen, [1, 2, 3, 2, 0, 1]);
});

Values('pass errors on, and are closed once when the reader leaves', async () => {
  const closed: string[] = [];
  assert.is(await rejection(drained(flattened(batches(closed, true)), () => {})), 'broken');
  for await (const value of flattened(batches(closed))) if (value === 1) break;
  assert.equal(closed, ['closed', 'closed']);
});

Values.run();
