/** Timers of a run. Those that are left when it ends never fire. */
import { clearTimer, setTimer } from '../event-loop.ts';

type Callback = (...args: readonly unknown[]) => void;

function timer(call: Callback, ms: number | undefined, args: readonly unknown[], isRepeated: boolean): number {
  if (typeof call !== 'function') throw new TypeError('a timer needs a function');
  return setTimer(() => call(...args), Number(ms ?? 0), isRepeated);
}

export const setTimeout = (call: Callback, ms?: number, ...args: readonly unknown[]): number =>
  timer(call, ms, args, false);
export const setInterval = (call: Callback, ms?: number, ...args: readonly unknown[]): number =>
  timer(call, ms, args, true);
export const clearTimeout = (id?: unknown): void => clearTimer(id);
export const clearInterval = clearTimeout;
