import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../../base/core/abort.ts';
import { LiveStates } from './live-states.ts';

const Live = suite('states for many readers');

Live('are made once for all of them, and not while nobody reads', async () => {
  let made = 0;
  const live = new LiveStates(async () => ({ made: (made += 1) }), 20);
  await delay(60);
  assert.is(made, 0);
  const readers = Array.from({ length: 50 }, async () => {
    const seen: string[] = [];
    for await (const state of live.read(new AbortController().signal)) {
      seen.push(state);
      if (seen.length === 5) return seen;
    }
    return seen;
  });
  const all = await Promise.all(readers);
  for (const seen of all) assert.equal(seen, all[0]);
  assert.equal(
    all[0],
    [1, 2, 3, 4, 5].map((each) => `{"made":${each}}`),
  );
  const before = made;
  await delay(60);
  assert.is(made, before);
});

Live('reach a reader who comes later at once, and skip a slow one', async () => {
  let made = 0;
  const live = new LiveStates(async () => (made += 1), 10);
  const [first, late] = [live.read(new AbortController().signal), live.read(new AbortController().signal)];
  await first.next();
  assert.equal(await late.next(), { done: false, value: '1' });
  while (made < 6) await first.next();
  await late.next(); // the state that came while it read
  assert.ok(Number((await late.next()).value) >= 6);
  await Promise.all([first.return(), late.return()]);
});

Live('go on after one that could not be made, and end with the signal', async () => {
  let tries = 0;
  const live = new LiveStates(async () => {
    if ((tries += 1) === 2) throw new Error('not now');
    return tries;
  }, 10);
  const end = new AbortController();
  const states = live.read(end.signal);
  assert.equal([(await states.next()).value, (await states.next()).value], ['1', '3']);
  const next = states.next();
  end.abort(new Error('the reader left'));
  assert.is(await next.catch((error: Error) => error.message), 'the reader left');
});

Live.run();
