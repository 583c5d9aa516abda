// Methods that compute several calls together.
import { AsyncQueue } from '../../../base/core/async/async-queue.ts';
import { RequestScope } from '../../../base/core/async/request-scope.ts';
import { deferred, type Deferred } from '../../../base/core/deferred.ts';
import { type AanaError, fail } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { type BatchContext, type BatchStep, type CallContext, STREAM_END } from '../class/deployment.ts';
import type { BatchSize } from './batch-size.ts';
import { BatchedCall, Batcher } from './batcher.ts';

export interface BatchedMethodOptions {
  /** Name of the class. */
  readonly type: string;
  /** Name of the method. */
  readonly name: string;
  readonly size: BatchSize;
  readonly log: Logger;
  /** Returns a checked value. Throws `InvalidOutput`. */
  checked(value: unknown): unknown;
  /** The method of the class. */
  compute(
    inputs: readonly unknown[],
    batch: BatchContext,
  ): Promise<readonly unknown[]> | AsyncIterable<BatchStep<unknown>>;
}

/** Values that wait for the reader of a stream before its batch waits, too, if all readers are that slow. */
const WINDOW = 64;
/** Most values that may wait for one reader of a stream. The call of a slower reader fails. */
const MOST_WAITING = 1000;

/** Returns a function that makes one call of a method with a single result, as part of a batch. */
export function batchedMethod(
  options: BatchedMethodOptions,
): (input: unknown, context: CallContext) => Promise<unknown> {
  const batcher = new Batcher({ size: options.size, run: (calls) => computed(calls, options) });
  return (input, context) =>
    new Promise((resolve, reject) => {
      const give = (value: unknown): void => resolve(options.checked(value));
      batcher.add(new BatchedCall(input, context, { give, fail: reject }));
    });
}

/** Returns the same for a streaming method. */
export function batchedStream(
  options: BatchedMethodOptions,
): (input: unknown, context: CallContext) => AsyncIterable<unknown> {
  const readers = new Readers();
  const batcher = new Batcher({ size: options.size, run: (calls) => streamed(calls, options, readers) });
  return async function* (input, context) {
    const values = new AsyncQueue<{ readonly value: unknown }>();
    const call = new BatchedCall(input, context, {
      give: (value) => {
        if (values.size >= MOST_WAITING) throw slowReader(options.type);
        values.push({ value: options.checked(value) });
      },
      fail: (error) => values.fail(error),
      end: () => values.end(),
      hasRoom: () => values.size < WINDOW,
    });
    batcher.add(call);
    try {
      for (;;) {
        const step = await values.next();
        if (step.done === true) return;
        readers.onTaken();
        yield step.value.value;
      }
    } finally {
      call.end(); // the reader may have left
      readers.onTaken();
    }
  };
}

/** Tells a batch that waits when one of its readers has taken a value. */
class Readers {
  #taken: Deferred<void> | undefined;

  onTaken(): void {
    this.#taken?.resolve();
    this.#taken = undefined;
  }

  /** Resolves when a reader has taken a value, or has left. */
  next(): Promise<void> {
    return (this.#taken ??= deferred()).promise;
  }
}

/**
 * Computes calls together. When the method throws, nobody knows which call is the cause, so it computes both halves of
 * the batch again. A bad call is alone at last and fails alone.
 */
async function computed(calls: readonly BatchedCall[], options: BatchedMethodOptions): Promise<void> {
  const live = calls.filter(({ hasEnded }) => !hasEnded);
  if (live.length === 0) return;
  let results: readonly unknown[];
  try {
    results = await inBatch(live, options, (inputs, batch) =>
      Promise.resolve(options.compute(inputs, batch) as Promise<readonly unknown[]>),
    );
  } catch (error) {
    await again(live, error, (half) => computed(half, options));
    return;
  }
  const mistake = lengthMistake(results, live, options);
  for (const [index, call] of live.entries()) {
    const result = mistake ?? results[index];
    if (result instanceof Error) call.fail(result);
    else call.give(result);
    call.end();
  }
}

/** Streams calls together. Before its first step, it is repeated like {@link computed}. */
async function streamed(calls: readonly BatchedCall[], options: BatchedMethodOptions, readers: Readers): Promise<void> {
  const live = calls.filter(({ hasEnded }) => !hasEnded);
  if (live.length === 0) return;
  let hasBegun = false;
  try {
    await inBatch(live, options, async (inputs, batch, scope) => {
      const steps = scope.around(
        options.compute(inputs, batch) as AsyncIterable<BatchStep<unknown>, unknown, undefined>,
      );
      for await (const step of steps) {
        hasBegun = true;
        const mistake = lengthMistake(step, live, options);
        for (const [index, call] of live.entries()) takeStep(call, mistake ?? step[index]);
        await hasReader(live, readers);
        if (live.every(({ hasEnded }) => hasEnded)) return;
      }
    });
    for (const call of live) call.end();
  } catch (error) {
    if (hasBegun) for (const call of live) call.fail(error);
    else await again(live, error, (half) => streamed(half, options, readers));
  }
}

function takeStep(call: BatchedCall, value: BatchStep<unknown>[number]): void {
  if (value instanceof Error) call.fail(value);
  else if (value === STREAM_END) call.end();
  else if (value !== undefined) call.give(value);
}

/** Waits until a reader keeps up, or all calls have ended. */
async function hasReader(live: readonly BatchedCall[], readers: Readers): Promise<void> {
  while (live.some(({ hasEnded }) => !hasEnded) && live.every(({ hasEnded, hasRoom }) => hasEnded || !hasRoom))
    await readers.next();
}

async function again(
  calls: readonly BatchedCall[],
  error: unknown,
  run: (half: readonly BatchedCall[]) => Promise<void>,
): Promise<void> {
  if (calls.length === 1) {
    calls[0]?.fail(error);
    return;
  }
  const middle = Math.ceil(calls.length / 2);
  await run(calls.slice(0, middle));
  await run(calls.slice(middle));
}

/** Runs `work` for calls, in no request, because it is for several. Its signal aborts when all callers have left. */
async function inBatch<T>(
  calls: readonly BatchedCall[],
  { log }: BatchedMethodOptions,
  work: (inputs: readonly unknown[], batch: BatchContext, scope: RequestScope) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  let left = calls.length;
  for (const call of calls)
    call.onEnd = () => {
      left -= 1;
      if (left === 0) ending.abort(call.context.signal.reason);
    };
  const batch = { calls: calls.map(({ context }) => context), signal: ending.signal, log };
  const scope = new RequestScope({});
  try {
    return await scope.run(() =>
      work(
        calls.map(({ input }) => input),
        batch,
        scope,
      ),
    );
  } finally {
    for (const call of calls) call.onEnd = undefined;
  }
}

function lengthMistake(
  results: readonly unknown[],
  { length }: readonly BatchedCall[],
  { type, name }: BatchedMethodOptions,
): AanaError | undefined {
  if (Array.isArray(results) && results.length === length) return undefined;
  const got = Array.isArray(results) ? `${results.length} results` : 'no list of results';
  return fail('InvalidOutput', `${type}.${name} returned ${got} for ${length} inputs`);
}

const slowReader = (type: string): AanaError =>
  fail('SlowReader', `${MOST_WAITING} values of the answer wait for the client, so its stream was ended`, {
    data: { model_name: type },
  });
