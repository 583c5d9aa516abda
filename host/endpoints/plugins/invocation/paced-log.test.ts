import { setImmediate as turn } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PacedLog } from './paced-log.ts';

/** Keeps the thread busy, as writing a long line does. */
function work(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}

const Paced = suite('lines that are written in turns');

Paced('a few lines are written at once', () => {
  const written: number[] = [];
  const log = new PacedLog(() => assert.unreachable());
  for (let n = 0; n < 10; n++) log.add(undefined, 1, () => written.push(n));
  assert.is(written.length, 10);
});

Paced('many lines leave other work its turns, and keep their order', async () => {
  const written: number[] = [];
  const log = new PacedLog(() => assert.unreachable());
  let turns = 0;
  for (let n = 0; n < 40; n++) log.add(undefined, 1, () => (work(1), written.push(n)));
  assert.ok(written.length < 40);
  for (; written.length < 40; turns++) await turn();
  assert.ok(turns >= 5, `${turns} turns`);
  assert.equal(
    written,
    Array.from({ length: 40 }, (_, n) => n),
  );
});

Paced('lines that are too many to wait are counted and told once', async () => {
  const dropped: number[] = [];
  let written = 0;
  const log = new PacedLog((lines) => dropped.push(lines));
  log.add(undefined, 1, () => work(5));
  for (let n = 0; n < 3000; n++) log.add(undefined, 1, () => written++);
  for (let n = 0; n < 3; n++) log.add(undefined, 40 * 1024 * 1024, () => assert.unreachable());
  while (dropped.length === 0) await turn();
  assert.equal([written, dropped], [2000, [1003]]);
  log.add(undefined, 1, () => written++);
  await turn();
  assert.equal([written, dropped.length], [2001, 1]);
});

Paced('the few lines of an ordinary invocation come before its end, whatever others log', async () => {
  const written: string[] = [];
  const log = new PacedLog(() => assert.unreachable());
  log.add(1, 1, () => work(5));
  for (let n = 0; n < 20; n++)
    for (const owner of [1, 2, undefined]) log.add(owner, 1, () => written.push(`${owner} ${n}`));
  log.end(2);
  assert.equal(
    written,
    Array.from({ length: 20 }, (_, n) => `2 ${n}`),
  );
  for (let n = 20; n < 500; n++) log.add(1, 1, () => written.push(`1 ${n}`));
  log.end(1);
  assert.is(written.length, 70);
  while (written.length < 540) await turn();
  assert.equal(
    written.filter((line) => line.startsWith('1 ')),
    Array.from({ length: 500 }, (_, n) => `1 ${n}`),
  );
});

Paced('a flush writes what waits', () => {
  let written = 0;
  const log = new PacedLog(() => assert.unreachable());
  log.add(undefined, 1, () => work(5));
  for (let n = 0; n < 50; n++) log.add(undefined, 1, () => written++);
  log.flush();
  assert.is(written, 50);
});

Paced.run();
