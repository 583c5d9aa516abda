/**
 * `Promise` of a guest (ECMA-262, 27.2). The interpreter's own promises are of no use, because nothing runs the
 * interpreter's jobs while an export is called. The jobs of this class are in a queue of the guest, so a run also knows
 * when nothing can happen any more, and where a promise was made that nothing settles.
 */

type Resolve = (value: unknown) => void;
type Reject = (reason: unknown) => void;
type Callback = ((value: unknown) => unknown) | null | undefined;

interface Capability {
  readonly promise: unknown;
  readonly resolve: Resolve;
  readonly reject: Reject;
}

interface Reaction {
  readonly onFulfilled: Callback;
  readonly onRejected: Callback;
  /** Undefined where the reaction settles what it must. */
  readonly derived: GuestPromise | Capability | undefined;
}

type Constructor = new (executor: (resolve: Resolve, reject: Reject) => void) => unknown;

/** A generator of an asynchronous function, which yields what the function awaits. */
interface Steps {
  next(value: unknown): { readonly done?: boolean; readonly value: unknown };
  throw(reason: unknown): { readonly done?: boolean; readonly value: unknown };
}

/** Where jobs go. */
export interface JobQueue {
  enqueue(job: () => void): void;
}

let queue: JobQueue;
/** Sets the queue for the jobs of all promises. */
export function useJobQueue(given: JobQueue): void {
  queue = given;
}

/** Rejected promises that nobody has looked at. */
const unhandled = new Set<GuestPromise>();
/** Pending promises that code has made with an executor, in the order in which they were made. */
const open = new Set<GuestPromise>();

/** Returns the reason of a rejected promise that nobody has looked at, and forgets all of them. */
export function takeUnhandledRejection(): { readonly reason: unknown } | undefined {
  const [first] = unhandled;
  unhandled.clear();
  return first && { reason: GuestPromise.reasonOf(first) };
}

/** Whether a promise is the one of an asynchronous function, which a build has lowered. */
const isLowered = (made: Place | undefined): boolean => made?.stack?.split('\n')[0]?.includes('__async') ?? true;

/** Forgets promises that are pending. */
export const forgetOpen = (): void => open.clear();

/** Returns where the last promise was made that is pending, and not by an asynchronous function. */
export function lastPending(): Place | undefined {
  return [...open].map((promise) => GuestPromise.madeBy(promise)).findLast((made) => !isLowered(made));
}

/** Returns where the last asynchronous function was called that has not ended, and that nobody waits for. */
export function lastForgotten(): Place | undefined {
  const forgotten = [...open].filter((promise) => !GuestPromise.isObserved(promise));
  return forgotten.map((promise) => GuestPromise.madeBy(promise)).findLast((made) => isLowered(made));
}

/** Returns an error about a promise, with the stack of the place where it was made. */
export function misuse(message: string, made: Place | undefined): TypeError {
  const error = new TypeError(message);
  if (made?.stack !== undefined) error.stack = made.stack;
  return error;
}

interface StackTraces {
  stackTraceLimit: number;
  captureStackTrace(into: object, from: unknown): void;
}
const traces = Error as unknown as StackTraces;

/** Where a promise was made. */
interface Place {
  readonly stack?: string;
}

/** Returns the place where `called` was called. Each frame takes half a microsecond, so it has only a few. */
function placeOf(called: unknown): Place {
  const place = {};
  const { stackTraceLimit } = traces;
  traces.stackTraceLimit = 6;
  traces.captureStackTrace(place, called);
  traces.stackTraceLimit = stackTraceLimit;
  return place;
}

/** Stands for the executor of a promise that has none. */
const withoutExecutor = (): void => {};

export class GuestPromise {
  #state: 'pending' | 'fulfilled' | 'rejected' = 'pending';
  #value: unknown;
  #reactions: Reaction[] | undefined;
  #isObserved = false;
  #made: Place | undefined;
  #isOfHost = false;

  constructor(executor: (resolve: Resolve, reject: Reject) => void) {
    if (executor === withoutExecutor) return;
    if (typeof executor !== 'function') throw new TypeError('Promise needs a function');
    this.#made = placeOf(GuestPromise);
    open.add(this);
    const { resolve, reject } = this.#resolvers();
    try {
      executor(resolve, reject);
    } catch (error) {
      reject(error);
    }
  }

  static reasonOf(promise: GuestPromise): unknown {
    return promise.#value;
  }

  /** Returns the value of a promise that is settled. Throws the reason when it was rejected. */
  static outcomeOf(promise: GuestPromise): unknown {
    promise.#isObserved = true;
    unhandled.delete(promise);
    if (promise.#state === 'rejected') throw promise.#value;
    return promise.#value;
  }

  /** Returns the place where a promise was made. */
  static madeBy(promise: GuestPromise): Place | undefined {
    return promise.#made;
  }

  static isPending(promise: GuestPromise): boolean {
    return promise.#state === 'pending';
  }

  /** Whether `then` was called. */
  static isObserved(promise: GuestPromise): boolean {
    return promise.#isObserved;
  }

  static get [Symbol.species](): unknown {
    return this;
  }

  get [Symbol.toStringTag](): string {
    return 'Promise';
  }

  /** Throws, because JSON of a promise would be an empty object. */
  toJSON(): never {
    throw misuse('a promise is no JSON value: "await" is missing', this.#made);
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is the class of promises
  then(onFulfilled?: Callback, onRejected?: Callback): unknown {
    const species = speciesOf(this);
    if (species === GuestPromise) {
      const derived = GuestPromise.pending();
      this.#react({ onFulfilled, onRejected, derived });
      return derived;
    }
    const derived = capabilityOf(species);
    this.#react({ onFulfilled, onRejected, derived });
    return derived.promise;
  }

  catch(onRejected?: Callback): unknown {
    return this.then(undefined, onRejected);
  }

  finally(onFinally?: unknown): unknown {
    if (typeof onFinally !== 'function') return this.then(onFinally as Callback, onFinally as Callback);
    const species = speciesOf(this) as unknown as typeof GuestPromise;
    const after = (then: () => unknown): unknown =>
      (GuestPromise.resolve.call(species, onFinally()) as GuestPromise).then(then);
    return this.then(
      (value) => after(() => value),
      (reason) =>
        after(() => {
          throw reason;
        }),
    );
  }

  static resolve(this: unknown, value?: unknown): unknown {
    if (isObject(value) && value instanceof GuestPromise && value.constructor === this) return value;
    const { promise, resolve } = capabilityOf(this as Constructor);
    resolve(value);
    return promise;
  }

  static reject(this: unknown, reason?: unknown): unknown {
    const { promise, reject } = capabilityOf(this as Constructor);
    reject(reason);
    return promise;
  }

  static withResolvers(this: unknown): Capability {
    return capabilityOf(this as Constructor);
  }

  static try(this: unknown, work: (...args: unknown[]) => unknown, ...args: unknown[]): unknown {
    const { promise, resolve, reject } = capabilityOf(this as Constructor);
    try {
      resolve(work(...args));
    } catch (error) {
      reject(error);
    }
    return promise;
  }

  static all(this: unknown, promises: Iterable<unknown>): unknown {
    return combined(this, promises, (values, end) => ({
      onFulfilled: (value, at) => {
        values[at] = value;
        end.one(values);
      },
      onRejected: end.reject,
    }));
  }

  static allSettled(this: unknown, promises: Iterable<unknown>): unknown {
    return combined(this, promises, (values, end) => ({
      onFulfilled: (value, at) => {
        values[at] = { status: 'fulfilled', value };
        end.one(values);
      },
      onRejected: (reason, at) => {
        values[at] = { status: 'rejected', reason };
        end.one(values);
      },
    }));
  }

  static any(this: unknown, promises: Iterable<unknown>): unknown {
    return combined(
      this,
      promises,
      (errors, end) => ({
        onFulfilled: end.resolve,
        onRejected: (reason, at) => {
          errors[at] = reason;
          end.one(errors);
        },
      }),
      (errors, { reject }) => reject(new AggregateError(errors, 'All promises were rejected')),
    );
  }

  static race(this: unknown, promises: Iterable<unknown>): unknown {
    return combined(
      this,
      promises,
      (_values, { resolve, reject }) => ({ onFulfilled: resolve, onRejected: reject }),
      () => {},
    );
  }

  /** Creates a pending promise without an executor. */
  static pending(): GuestPromise {
    return new GuestPromise(withoutExecutor);
  }

  /** Creates the pending promise of a call of the host, which `called` makes. */
  static ofHost(called: unknown): GuestPromise {
    const promise = new GuestPromise(withoutExecutor);
    promise.#isOfHost = true;
    promise.#made = placeOf(called);
    return promise;
  }

  /**
   * Returns the promise of an asynchronous function, of which a build has made a generator. It does what esbuild's
   * `__async` does, in half of the time, because no promise comes out of each `await`.
   */
  static ofFunction(self: unknown, args: unknown[], body: (...args: unknown[]) => Steps): GuestPromise {
    const promise = new GuestPromise(withoutExecutor);
    promise.#made = placeOf(GuestPromise.ofFunction);
    open.add(promise);
    let steps: Steps;
    const goOn = (step: 'next' | 'throw', given?: unknown): void => {
      try {
        const { done, value } = steps[step](given);
        if (done) promise.#follow(value);
        else (GuestPromise.resolve(value) as GuestPromise).#react(reaction);
      } catch (error) {
        promise.#settle('rejected', error);
      }
    };
    const reaction: Reaction = {
      onFulfilled: (value) => goOn('next', value),
      onRejected: (reason) => goOn('throw', reason),
      derived: undefined,
    };
    try {
      steps = body.apply(self, args);
      goOn('next');
    } catch (error) {
      promise.#settle('rejected', error);
    }
    return promise;
  }

  static isOfHost(value: unknown): value is GuestPromise {
    return isObject(value) && value instanceof GuestPromise && value.#isOfHost;
  }

  /** Resolves a promise without an executor. It is called once, or `fail`. */
  static fulfil(promise: GuestPromise, value: unknown): void {
    promise.#follow(value);
  }

  static fail(promise: GuestPromise, reason: unknown): void {
    promise.#settle('rejected', reason);
  }

  /** Returns a pending promise with its functions. */
  static capability(): Capability {
    return new GuestPromise(withoutExecutor).#resolvers();
  }

  #react(reaction: Reaction): void {
    this.#isObserved = true;
    unhandled.delete(this);
    if (this.#state === 'pending') (this.#reactions ??= []).push(reaction);
    else this.#run(reaction);
  }

  #run({ onFulfilled, onRejected, derived }: Reaction): void {
    const isFulfilled = this.#state === 'fulfilled';
    const callback = isFulfilled ? onFulfilled : onRejected;
    const value = this.#value;
    queue.enqueue(() => {
      if (!derived) return callback!(value);
      if (typeof callback !== 'function') return isFulfilled ? resolve(derived, value) : reject(derived, value);
      let result: unknown;
      try {
        result = callback(value);
      } catch (error) {
        return reject(derived, error);
      }
      resolve(derived, result);
    });
  }

  #settle(state: 'fulfilled' | 'rejected', value: unknown): void {
    const reactions = this.#reactions;
    this.#state = state;
    this.#value = value;
    this.#reactions = undefined;
    open.delete(this);
    if (state === 'rejected' && !this.#isObserved) unhandled.add(this);
    if (reactions) for (const reaction of reactions) this.#run(reaction);
  }

  #resolvers(): { readonly promise: GuestPromise; readonly resolve: Resolve; readonly reject: Reject } {
    let isResolved = false;
    const reject: Reject = (reason) => {
      if (isResolved) return;
      isResolved = true;
      this.#settle('rejected', reason);
    };
    const resolve: Resolve = (value) => {
      if (isResolved) return;
      isResolved = true;
      this.#follow(value);
    };
    return { promise: this, resolve, reject };
  }

  #follow(value: unknown): void {
    if (value === this) return this.#settle('rejected', new TypeError('a promise cannot be resolved with itself'));
    if (!isObject(value)) return this.#settle('fulfilled', value);
    let then: unknown;
    try {
      then = (value as { readonly then?: unknown }).then;
    } catch (error) {
      return this.#settle('rejected', error);
    }
    if (typeof then !== 'function') return this.#settle('fulfilled', value);
    const { resolve, reject } = this.#resolvers();
    queue.enqueue(() => {
      try {
        then.call(value, resolve, reject);
      } catch (error) {
        reject(error);
      }
    });
  }
}

function resolve(derived: GuestPromise | Capability, value: unknown): void {
  if (derived instanceof GuestPromise) GuestPromise.fulfil(derived, value);
  else derived.resolve(value);
}

function reject(derived: GuestPromise | Capability, reason: unknown): void {
  if (derived instanceof GuestPromise) GuestPromise.fail(derived, reason);
  else derived.reject(reason);
}

/** Returns a promise of a class with its functions (NewPromiseCapability). */
function capabilityOf(constructor: Constructor): Capability {
  if ((constructor as unknown) === GuestPromise) return GuestPromise.capability();
  if (typeof constructor !== 'function') throw new TypeError('it is no constructor of promises');
  let resolve: Resolve | undefined;
  let reject: Reject | undefined;
  const promise = new constructor((one, other) => {
    if (resolve !== undefined || reject !== undefined) throw new TypeError('the executor was called twice');
    resolve = one;
    reject = other;
  });
  if (typeof resolve !== 'function' || typeof reject !== 'function')
    throw new TypeError('a constructor of promises gives no functions');
  return { promise, resolve, reject };
}

function speciesOf(promise: GuestPromise): Constructor {
  const { constructor } = promise as { readonly constructor: unknown };
  if (constructor === undefined) return GuestPromise as unknown as Constructor;
  const species = (constructor as { readonly [Symbol.species]?: unknown })[Symbol.species];
  return (species ?? GuestPromise) as Constructor;
}

interface Ends {
  readonly resolve: Resolve;
  readonly reject: Reject;
  /** Called when one of the promises is settled. After the last one, all are over. */
  one(values: unknown[]): void;
}

/** Makes one promise of several. */
function combined(
  self: unknown,
  promises: Iterable<unknown>,
  handlers: (
    values: unknown[],
    ends: Ends,
  ) => {
    readonly onFulfilled: (value: unknown, at: number) => void;
    readonly onRejected: (reason: unknown, at: number) => void;
  },
  onAll: (values: unknown[], ends: Ends) => void = (values, { resolve }) => resolve(values),
): unknown {
  const constructor = self as Constructor & { resolve: (value: unknown) => { then: GuestPromise['then'] } };
  const { promise, resolve, reject } = capabilityOf(constructor);
  try {
    const { resolve: resolved } = constructor;
    if (typeof resolved !== 'function') throw new TypeError('the constructor has no function resolve');
    const values: unknown[] = [];
    let left = 1;
    const ends: Ends = {
      resolve,
      reject,
      one(of) {
        if (--left === 0) onAll(of, ends);
      },
    };
    const { onFulfilled, onRejected } = handlers(values, ends);
    let at = 0;
    for (const item of promises) {
      const place = at++;
      values[place] = undefined;
      left++;
      let isCalled = false;
      const once =
        (call: (value: unknown, at: number) => void) =>
        (value: unknown): void => {
          if (isCalled) return;
          isCalled = true;
          call(value, place);
        };
      resolved.call(constructor, item).then(once(onFulfilled), once(onRejected));
    }
    ends.one(values);
  } catch (error) {
    reject(error);
  }
  return promise;
}

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';
