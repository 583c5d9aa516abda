import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { drained } from './async-values.ts';
import { merged } from './merged.ts';

const Merged = suite('merged');

async function* counting(name: string, count: number, log: string[] = []): AsyncGenerator<string, string> {
  try {
    for (let at = 0; at < count; at += 1) {
      log.push(`${name}${at}`);
      yield `${name}${at}`;
      await Promise.resolve();
    }
    return `end of ${name}`;
  } finally {
    log.push(`${name} closed`);
  }
}

Merged('yields the values of all iterables, in order for each, and returns their ends', async () => {
  const seen: (readonly [number, string])[] = [];
  const ends = await drained(merged([counting('a', 3), counting('b', 1), counting('c', 0)]), (pair) => {
    seen.push(pair);
  });
  assert.equal(ends, ['end of a', 'end of b', 'end of c']);
  assert.equal(seen.filter(([index]) => index === 0), [[0, 'a0'], [0, 'a1'], [0, 'a2']]); // prettier-ignore
  assert.equal(
    seen.filter(([index]) => index === 1),
    [[1, 'b0']],
  );
  assert.is(seen.length, 4);
  assert.equal(await drained(merged([]), () => {}), []);
});

Merged('is ahead of the reader by one value of each', async () => {
  const log: string[] = [];
  const values = merged([counting('a', 9, log), counting('b', 9, log)]);
  await values.next();
  await sleep(5);
  assert.equal(log, ['a0', 'b0']);
  await values.return([]);
});

Merged('throws the first error and closes the others', async () => {
  const log: string[] = [];
  async function* failing(): AsyncGenerator<string, string> {
    yield 'x';
    throw new Error('broken');
  }
  let caught: unknown;
  try {
    await drained(merged([counting('a', 9, log), failing()]), () => {});
  } catch (error) {
    caught = error;
  }
  assert.match(String(caught), 'broken');
  await sleep(1);
  assert.is(log.at(-1), 'a closed');
});

Merged('ends when the reader leaves, also while an iterable waits', async () => {
  const log: string[] = [];
  async function* stuck(): AsyncGenerator<string, string> {
    await new Promise(() => {});
    yield 'never';
    return '';
  }
  for await (const [, value] of merged([stuck(), counting('a', 9, log)])) {
    assert.is(value, 'a0');
    break;
  }
  await sleep(1);
  assert.is(log.at(-1), 'a closed');
});

Merged.run();
