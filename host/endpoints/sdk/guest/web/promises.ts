/** Replaces what the interpreter's own jobs would run. It is the first module of every component. */
import { enqueue, settle } from '../event-loop.ts';
import { GuestPromise } from '../promise.ts';

function define(owner: object, name: string, value: unknown): void {
  Object.defineProperty(owner, name, { value, writable: true, configurable: true });
}

function queueMicrotask(job: () => void): void {
  if (typeof job !== 'function') throw new TypeError('queueMicrotask needs a function');
  enqueue(job);
}

async function fromAsync<T, R>(
  items: AsyncIterable<T> | Iterable<T | PromiseLike<T>> | ArrayLike<T | PromiseLike<T>>,
  each?: (value: T, at: number) => R,
): Promise<unknown[]> {
  const all: unknown[] = [];
  const isIterable = Symbol.asyncIterator in items || Symbol.iterator in items;
  for await (const item of isIterable ? items : Array.from(items)) {
    const value = (await item) as T;
    all.push(each ? await each(value, all.length) : value);
  }
  return all;
}

define(GuestPromise, 'name', 'Promise');
define(globalThis, 'Promise', GuestPromise);
define(globalThis, 'queueMicrotask', queueMicrotask);
define(Array, 'fromAsync', fromAsync);
// A build calls it in the place of esbuild's helper.
define(globalThis, 'aanaAsync', GuestPromise.ofFunction);
// A build puts them in the place of `await` at the top level, and around what an ordinary `yield*` iterates.
define(globalThis, 'aanaSettle', (value: unknown) => settle(Promise.resolve(value)));
define(globalThis, 'aanaIterate', (items: Iterable<unknown>) => ({
  [Symbol.iterator]: () => items[Symbol.iterator](),
}));
