import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LogRing } from './log-ring.ts';
import { createLogger, type LogRecord } from './logger.ts';

const Ring = suite('the last lines of a log');

async function collect(records: AsyncIterable<LogRecord>): Promise<LogRecord[]> {
  const all: LogRecord[] = [];
  for await (const one of records) all.push(one);
  return all;
}

const messages = async (records: AsyncIterable<LogRecord>): Promise<string[]> =>
  (await collect(records)).map(({ message }) => message);

Ring('keeps a limited number, and returns the last ones, on request of one deployment', async () => {
  const ring = new LogRing(3);
  for (const n of [1, 2, 3, 4]) ring.add('info', `m${n}`, { deployment: n % 2 === 0 ? 'even' : 'odd' });
  assert.equal(await messages(ring.read({ lines: 10, follow: false })), ['m2', 'm3', 'm4']);
  assert.equal(await messages(ring.read({ lines: 1, follow: false })), ['m4']);
  assert.equal(await messages(ring.read({ lines: 0, follow: false })), []);
  assert.equal(await messages(ring.read({ lines: 10, follow: false, deployment: 'even' })), ['m2', 'm4']);
});

Ring('returns records of an area, and of a level or above', async () => {
  const ring = new LogRing();
  ring.add('info', 'of http', { area: 'http' });
  ring.add('error', 'bad', { area: 'http' });
  ring.add('error', 'worse');
  assert.equal(await messages(ring.read({ lines: 10, follow: false, area: 'http' })), ['of http', 'bad']);
  assert.equal(await messages(ring.read({ lines: 10, follow: false, level: 'warn' })), ['bad', 'worse']);
  assert.equal(await messages(ring.read({ lines: 1, follow: false, level: 'warn', area: 'http' })), ['bad']);
  ring.add('info', 'of a replica', { area: 'http', deployment: 'asr', replica: 'asr#1' });
  ring.add('info', 'of another', { area: 'http', deployment: 'asr', replica: 'asr#2' });
  assert.equal(await messages(ring.read({ lines: 10, follow: false, replica: 'asr#1' })), ['of a replica']);
});

Ring('passes new records and the end to followers', async () => {
  const ring = new LogRing();
  ring.add('info', 'before');
  const all = messages(ring.read({ lines: 1, follow: true }));
  await Promise.resolve();
  ring.add('info', 'after');
  ring.close();
  assert.equal(await all, ['before', 'after']);
});

Ring('tells a slow reader how many records it missed, and delays nobody', async () => {
  const ring = new LogRing(2);
  const reading = ring.read({ lines: 0, follow: true });
  const first = reading.next();
  ring.add('info', 'm1');
  assert.is((await first).value?.message, 'm1');
  for (const n of [2, 3, 4, 5]) ring.add('info', `m${n}`);
  const gap = (await reading.next()).value;
  assert.equal([gap?.level, gap?.fields], ['warn', { lines: 2 }]);
  assert.is((await reading.next()).value?.message, 'm4');
});

Ring('ends a follower whose signal aborts, with its reason', async () => {
  const ring = new LogRing();
  const controller = new AbortController();
  const next = ring.read({ lines: 0, follow: true, signal: controller.signal }).next();
  const reason = new Error('enough');
  controller.abort(reason);
  assert.is(await next.catch((error: unknown) => error), reason);
});

Ring('records the lines of a logger from a level on, with the fields of its children', async () => {
  const ring = new LogRing();
  const written: string[] = [];
  const log = ring.tap(
    createLogger({ level: 'warn', format: 'json', write: (line) => written.push(line) }),
    () => 'info',
  );
  log.child({ deployment: 'a' }).info('ready', { replica: 1, none: undefined });
  log.debug('too fine');
  log.error('lost', { error: new Error('why') });
  assert.is(written.length, 1, 'the logger keeps its own level');
  const [ready, lost, ...more] = await collect(ring.read({ lines: 10, follow: false }));
  assert.equal([ready?.message, ready?.fields], ['ready', { deployment: 'a', replica: 1 }]);
  assert.equal([lost?.level, lost?.fields], ['error', { error: 'why' }]);
  assert.equal(more, []);
});

Ring('shortens fields that are too long or have no JSON', async () => {
  const ring = new LogRing();
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  ring.add('info', 'odd', { circle, big: 10n, long: 'x'.repeat(10_000), nested: { error: new Error('deep') } });
  const [kept] = await collect(ring.read({ lines: 1, follow: false }));
  assert.equal(kept?.fields['nested'], { error: 'deep' });
  assert.is(String(kept?.fields['long']).length, 4001);
  assert.ok(JSON.stringify(kept).length < 5000);
});

Ring.run();
