import type { Concurrency } from '../../../../wit/generated/world/concurrency.ts';
import { after, isPromise } from '../maybe-promise.ts';
import { errorRecordIn, fromHost, HostError } from '../host-error.ts';
import {
  forgetOpen,
  GuestPromise,
  lastForgotten,
  lastPending,
  misuse,
  takeUnhandledRejection,
  useJobQueue,
} from './promise.ts';
import { running } from './running.ts';

declare const performance: { now(): number };
declare const queueMicrotask: (job: () => void) => void;
/** The interpreter's, or Node's in tests. */
const nextTurn = queueMicrotask;

/** A call of the host whose promise is pending. */
interface HostOperation {
  readonly promise: GuestPromise;
  /** What the call needs. */
  readonly prepared: unknown;
  readonly call: (prepared: unknown) => unknown;
  /** Turns the result into the value of the promise. */
  readonly finish: ((result: unknown) => unknown) | undefined;
  /** Turns the error into the reason of the promise. */
  readonly failed?: ((error: unknown) => unknown) | undefined;
}

interface Timer {
  readonly id: number;
  dueMs: number;
  readonly everyMs: number | undefined;
  readonly call: () => void;
}

/** Started calls beyond it wait in the guest. */
const mostStarted = 32;
/** With these the host takes no further call before others are taken. */
const tooMany: ReadonlySet<string> = new Set(['TooManyHandles', 'HeldTooMuch']);
const never = 'the run waits for a promise that nothing settles: no call of the host and no timer is left';

const jobs: (() => void)[] = [];
let nextJob = 0;
let queued: HostOperation[] = [];
const started = new Map<number, HostOperation>();
/** The promises of calls that are over, and which nobody looked at. They keep their values, so others are not here. */
const unobserved = new Set<GuestPromise>();
let timers: Timer[] = [];
let lastTimer = 0;
let concurrency: Concurrency | undefined;
let isScheduled = false;
/** Tells the signal of the run about an error that may be the end of the run. */
let cancelled: ((error: unknown) => void) | undefined;

/** Sets what makes calls of the host run side by side. Without it each one is made as soon as its turn comes. */
export function useConcurrency(given: Concurrency): void {
  concurrency = given;
}

useJobQueue({ enqueue });

/** Sets what is called with an error that may be the end of the run. */
export function onCancelled(call: (error: unknown) => void): void {
  cancelled = call;
}

/** Begins a run. What the top level of the plugin has left, such as timers, is no part of it. */
export function begin(): void {
  running.isOn = true;
  forgetLeft();
}

/** Forgets what is left of an earlier run. */
export function forgetLeft(): void {
  unobserved.clear();
  queued = [];
  timers = [];
  cancelled = undefined;
  forgetOpen();
  takeUnhandledRejection();
}

export function enqueue(job: () => void): void {
  jobs.push(job);
  schedule();
}

/** Outside of a run, jobs and calls of the host are jobs of the interpreter. */
function schedule(): void {
  if (running.isOn || isScheduled) return;
  isScheduled = true;
  nextTurn(() => {
    isScheduled = false;
    runJobs();
    for (let next = queued.shift(); next; next = queued.shift()) {
      perform(next);
      runJobs();
    }
  });
}

/**
 * Makes a call of the host and returns its promise. Calls that wait at the same time run side by side. `finish` turns
 * the result into the value. Errors of the host become a `HostError`, and what `failed` returns for it.
 */
export function hostPromise<T, R = T>(
  call: () => T,
  finish?: (value: T) => R | Promise<R>,
  failed?: (error: unknown) => unknown,
): Promise<R> {
  const promise = GuestPromise.ofHost(hostPromise);
  begun({ promise, prepared: undefined, call, finish, failed } as HostOperation);
  return promise as unknown as Promise<R>;
}

/** Does the same for a call that needs what `prepare` makes now. Rejects when `prepare` throws. */
export function preparedPromise<A, T, R = T>(
  prepare: () => A,
  call: (prepared: A) => T,
  finish?: (value: T) => R,
): Promise<R> {
  const promise = GuestPromise.ofHost(preparedPromise);
  try {
    begun({ promise, prepared: prepare(), call, finish } as HostOperation);
  } catch (thrown) {
    GuestPromise.fail(promise, fromHost(thrown));
  }
  return promise as unknown as Promise<R>;
}

function begun(operation: HostOperation): void {
  queued.push(operation);
  schedule();
}

/** Waits for a call of the host in the middle of a function. Other calls of the run go on meanwhile. */
export function waitFor<T>(promise: Promise<T>): T {
  if (!GuestPromise.isOfHost(promise))
    throw new TypeError('ctx.wait takes the promise that a call of the host returned; use "await" for other promises');
  const at = queued.findIndex((one) => one.promise === promise);
  if (at >= 0) for (const operation of queued.splice(at, 1)) perform(operation);
  else for (const [number, operation] of started) if (operation.promise === promise) perform(operation, number);
  if (GuestPromise.isPending(promise))
    throw new TypeError('ctx.wait cannot wait here: what stands for the host in a test must answer at once');
  unobserved.delete(promise);
  return GuestPromise.outcomeOf(promise) as T;
}

/** Gives up a call of the host whose promise is pending. The promise is rejected with the reason. */
export function giveUp(promise: Promise<unknown>, reason: unknown): void {
  for (const operation of queued.filter((one) => isOf(one, promise))) {
    queued = queued.filter((one) => one !== operation);
    fail(operation, reason);
  }
  for (const [number, operation] of started) {
    if (!isOf(operation, promise)) continue;
    started.delete(number);
    concurrency!.cancel(number);
    fail(operation, reason);
  }
}

const isOf = (operation: HostOperation, promise: Promise<unknown>): boolean =>
  operation.promise === (promise as unknown);

export function setTimer(call: () => void, ms: number, isRepeated: boolean): number {
  const id = ++lastTimer;
  const delayMs = Math.max(isRepeated ? 1 : 0, Number.isFinite(ms) ? Math.min(ms, 2 ** 31 - 1) : 0);
  add({ id, dueMs: performance.now() + delayMs, everyMs: isRepeated ? delayMs : undefined, call });
  return id;
}

export function clearTimer(id: unknown): void {
  timers = timers.filter((timer) => timer.id !== id);
}

/**
 * Runs jobs, calls of the host and timers until the promise is settled. Returns its value, or throws its reason. Throws
 * when nothing can settle it.
 */
export function settle<T>(promise: PromiseLike<T>): T {
  let outcome: { readonly value: T } | { readonly reason: unknown } | undefined;
  promise.then(
    (value) => void (outcome = { value }),
    (reason: unknown) => void (outcome = { reason }),
  );
  for (;;) {
    runJobs();
    if (outcome) break;
    if (!goOn()) throw neverSettled();
  }
  if ('reason' in outcome) throw outcome.reason;
  return outcome.value;
}

/** Returns the error for a run that waits for ever, with the place where its author made the promise. */
export const neverSettled = (): TypeError => misuse(never, lastPending());

/** Throws when the run that ends has left something undone: its author has forgotten an `await`. */
export function requireNothingLeft(): void {
  runJobs(); // of functions that an ordinary run has called
  const left = [...started.values(), ...queued].map(({ promise }) => promise);
  const forgotten = [...unobserved, ...left].find((promise) => !GuestPromise.isObserved(promise));
  const place = forgotten ? GuestPromise.madeBy(forgotten) : lastForgotten();
  unobserved.clear();
  queued = [];
  if (place) throw misuse('the run ended before something that it began: "await" is missing', place);
  const rejection = takeUnhandledRejection();
  if (rejection) throw rejection.reason;
}

const rethrow = (thrown: unknown): never => {
  throw fromHost(thrown);
};

function runJobs(): void {
  while (nextJob < jobs.length) {
    const job = jobs[nextJob++]!;
    if (nextJob > 1_000) {
      jobs.splice(0, nextJob);
      nextJob = 0;
    }
    job();
  }
  jobs.length = 0;
  nextJob = 0;
}

/** Waits until there is a job again. Returns false when nothing can make one. */
function goOn(): boolean {
  const [timer] = timers;
  if (queued.length === 0 && started.size === 0 && !timer) return false;
  if (!concurrency || (queued.length === 1 && started.size === 0 && !timer)) {
    const next = queued.shift();
    if (next) perform(next);
    return next !== undefined;
  }
  while (queued.length > 0 && started.size < mostStarted) {
    if (!start(queued[0]!, concurrency)) break;
    queued.shift();
  }
  const ms = timer && Math.max(0, Math.ceil(timer.dueMs - performance.now()));
  if (started.size > 0 || ms !== undefined) takeFinished(concurrency, jobs.length > 0 ? 0 : ms);
  runTimers();
  return true;
}

/** Starts a call. Returns false when the host takes no further one now. */
function start(operation: HostOperation, { startNext, cancel }: Concurrency): boolean {
  startNext();
  try {
    fulfil(operation);
  } catch (thrown) {
    const record = errorRecordIn(thrown);
    if (record && tooMany.has(record.name) && started.size > 0) return false;
    if (record?.name === 'CallStarted') started.set(Number(record.data), operation);
    else fail(operation, fromHost(thrown));
    if (!record) cancel(0); // it did not reach the host, so the next call would begin only
  }
  return true;
}

function takeFinished({ wait }: Concurrency, ms: number | undefined): void {
  let finished: ArrayLike<number>;
  try {
    finished = wait(Uint32Array.from(started.keys()), ms);
  } catch (thrown) {
    // The run was cancelled, or its time is over.
    const reason = fromHost(thrown);
    const all = [...started.values(), ...queued];
    started.clear();
    queued = [];
    if (all.length === 0) {
      tell(reason);
      if (jobs.length === 0) throw reason;
    }
    for (const operation of all) fail(operation, reason);
    return;
  }
  for (const number of Array.from(finished)) {
    const operation = started.get(number);
    if (operation) perform(operation, number);
  }
}

/** Makes a call now, or takes the outcome of the one that was started with this number. */
function perform(operation: HostOperation, number?: number): void {
  if (number !== undefined) {
    started.delete(number);
    concurrency!.takeNext(number);
  }
  try {
    fulfil(operation);
  } catch (thrown) {
    if (number !== undefined && !errorRecordIn(thrown)) concurrency!.cancel(number); // it did not reach the host
    fail(operation, fromHost(thrown));
  }
}

/** Makes the call, and settles its promise with the result. Throws what the call throws. */
function fulfil({ promise, prepared, call, finish }: HostOperation): void {
  const result = call(prepared);
  // In tests a call can be a promise.
  const given = isPromise(result) ? result.catch(rethrow) : result;
  GuestPromise.fulfil(promise, finish ? after(given, finish) : given);
  if (!GuestPromise.isObserved(promise)) unobserved.add(promise);
}

/** Gives an error of the host the stack of the call, because the stack at its outcome has no line of the author. */
function placeAt(error: unknown, made: string | undefined): void {
  if (!(error instanceof Error) || made === undefined) return;
  if (!(error instanceof HostError || error.cause instanceof HostError)) return;
  const { name, message, stack = '' } = error;
  const frames = made.slice(Math.max(0, made.indexOf('    at ')));
  error.stack = stack.startsWith(name) ? `${name}: ${message}\n${frames}` : frames; // the interpreter has no such line
}

/** Aborts the signal of the run if the error is that of a run which must end. */
function tell(error: unknown): void {
  if (error instanceof HostError && (error.kind === 'cancelled' || error.kind === 'deadline-exceeded'))
    cancelled?.(error);
}

function fail({ promise, failed }: HostOperation, reason: unknown): void {
  tell(reason);
  const error = failed ? failed(reason) : reason;
  placeAt(error, GuestPromise.madeBy(promise)?.stack);
  GuestPromise.fail(promise, error);
  if (!GuestPromise.isObserved(promise)) unobserved.add(promise);
}

function runTimers(): void {
  const nowMs = performance.now();
  for (let [next] = timers; next && next.dueMs <= nowMs; [next] = timers) {
    timers.shift();
    if (next.everyMs !== undefined) add({ ...next, dueMs: nowMs + next.everyMs });
    next.call();
    runJobs();
  }
}

/** Adds a timer behind those that are due at the same time. */
function add(timer: Timer): void {
  const at = timers.findIndex(({ dueMs }) => dueMs > timer.dueMs);
  timers.splice(at < 0 ? timers.length : at, 0, timer);
}
