import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay, raceAbort, signalWithin, withDeadline } from './abort.ts';

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

const timedOut = (): Error => new Error('the time is up');
/** Rejects with the reason of the signal. */
const untilAborted = ({ signal }: { readonly signal: AbortSignal }): Promise<never> =>
  raceAbort(new Promise<never>(() => {}), signal);

Abort('withDeadline aborts the work when the time is up, and leaves no listener behind', async () => {
  const { signal } = new AbortController();
  const ended = await withDeadline({ signal, timeoutMs: 1, timedOut }, untilAborted).catch((error: unknown) => error);
  assert.is((ended as Error).message, 'the time is up');
  const before = performance.now();
  const deadlineAt = await withDeadline({ signal, timeoutMs: 60_000, timedOut }, async (ending) => ending.deadlineAt);
  assert.ok(deadlineAt >= before + 60_000 && deadlineAt <= performance.now() + 60_000);
  assert.is(getEventListeners(signal, 'abort').length, 0);
});

Abort('withDeadline aborts the work with the reason of the signal, and does not start it afterwards', async () => {
  const controller = new AbortController();
  const options = { signal: controller.signal, timeoutMs: 60_000, timedOut };
  const running = withDeadline(options, untilAborted).catch((error: unknown) => error);
  const reason = new Error('client went away');
  controller.abort(reason);
  assert.is(await running, reason);
  let starts = 0;
  const late = withDeadline(options, async () => (starts += 1)).catch((error: unknown) => error);
  assert.equal([await late, starts], [reason, 0]);
});

Abort('signalWithin keeps its time limit when garbage is collected', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const other = new AbortController();
  const aborted = new Promise<unknown>((resolve) => {
    const signal = signalWithin(50, undefined, other.signal);
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
  });
  const collecting = setInterval(collect, 5);
  const reason = await aborted.finally(() => clearInterval(collecting));
  assert.is((reason as Error).name, 'TimeoutError');
  const signal = signalWithin(60_000, other.signal);
  other.abort('left');
  assert.is(signal.reason, 'left');
});

Abort.run();
