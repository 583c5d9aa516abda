import { getEventListeners } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay, raceAbort } from './abort.ts';

const Abort = suite('abort helpers');

Abort('raceAbort rejects with the reason of the signal, not a generic error', async () => {
  const reason = new Error('client went away');
  assert.is(await raceAbort(new Promise(() => {}), AbortSignal.abort(reason)).catch((error: unknown) => error), reason);
});

Abort('raceAbort returns the value and leaves no listener behind', async () => {
  const controller = new AbortController();
  assert.is(await raceAbort(Promise.resolve(7), controller.signal), 7);
  assert.is(getEventListeners(controller.signal, 'abort').length, 0);
});

Abort('delay ends early with the reason and leaves no listener behind', async () => {
  const controller = new AbortController();
  const waiting = delay(60_000, controller.signal).catch((error: unknown) => error);
  const reason = new Error('stop');
  controller.abort(reason);
  assert.is(await waiting, reason);
  await delay(1, new AbortController().signal);
  assert.is(getEventListeners(controller.signal, 'abort').length, 0);
});

Abort.run();
