import { AsyncQueue } from '../../base/core/async/async-queue.ts';
import { cancelledError, fromErrorRecord } from '../../base/core/errors.ts';
import { type RequestContext, toWireContext } from '../../base/core/request-context.ts';
import type { UsageMeter } from '../../base/core/usage/usage-meter.ts';
import { type Feed, FeedSender } from './feed.ts';
import type { CallAnswer, CallRequest, ReconfigureFrame } from './frames.ts';

export interface RpcCallOptions extends RequestContext {
  /** The model that the caller has named, of a deployment with many. */
  readonly multiplexedModelId?: string | undefined;
  /** Whether the call takes a place beyond the number of calls that the replica runs. */
  readonly beyond?: boolean | undefined;
  /** Beginning of messages about its arguments, if they were only checked against JSON Schemas. */
  readonly unchecked?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with the part of the call that is done, from 0 to 1, if the method reports it. It only rises. */
  readonly onProgress?: ((fraction: number) => void) | undefined;
  /** Called with the number of values of a stream that have arrived, before the caller reads them. */
  readonly onValues?: ((count: number) => void) | undefined;
  /** Values that are sent into the running call. The call closes the iterable when it ends. */
  readonly feed?: Feed | undefined;
  /**
   * Called once, when the replica has finished all work for the call. After a cancellation this is later than the
   * caller's rejection. `loss` is set when the replica has ended: {@link CALL_NOT_BEGUN} if it did so before it began
   * the call.
   */
  readonly onSettled?: (loss?: Error) => void;
}

/**
 * The error of a call that the other end did not begin, because it had no place or ended before. It can be made again.
 */
export const CALL_NOT_BEGUN: Error = new Error('the other end did not begin the call');

interface OpenCall {
  /** Whether the other end works on it. */
  isBegun: boolean;
  onValue(value: unknown): void;
  onValues(values: readonly unknown[]): void;
  onEnd(value: unknown): void;
  onError(error: unknown): void;
  onProgress: ((fraction: number) => void) | undefined;
  readonly onSettled: ((loss?: Error) => void) | undefined;
  readonly feed: FeedSender | undefined;
  readonly meter: UsageMeter | undefined;
  readonly args: Readonly<Record<string, unknown>>;
  /** Stops listening to the caller's signal, and closes its feed. */
  release(): void;
}

/** The calling end of a connection. Sends calls and receives their values. */
export class CallClient {
  readonly #send: (frame: CallRequest | ReconfigureFrame) => void;
  readonly #onClosed: ((id: number) => void) | undefined;
  readonly #calls = new Map<number, OpenCall>();
  #nextId = 1;

  /** `onClosed` is called with the number of each call when the other end has finished all work for it. */
  constructor(send: (frame: CallRequest | ReconfigureFrame) => void, onClosed?: (id: number) => void) {
    this.#send = send;
    this.#onClosed = onClosed;
  }

  call(method: string, args: Record<string, unknown>, options: RpcCallOptions = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const sink = {
        isBegun: false,
        onValue: resolve,
        onValues: () => {},
        onEnd: () => resolve(null),
        onError: reject,
        args,
      };
      this.#open((id) => callFrame(id, method, args, false, options), sink, options);
    });
  }

  /**
   * Sends the call at once. The caller must read the stream to its end or call `return`. At its end, the stream returns
   * the value that the method returned after its last one.
   */
  stream(
    method: string,
    args: Record<string, unknown>,
    options: RpcCallOptions = {},
  ): AsyncIterableIterator<unknown[], unknown> {
    const queue = new AsyncQueue<unknown[], unknown>(() => this.#cancel(id));
    const sink = {
      isBegun: false,
      onValue: () => {},
      onValues: (values: readonly unknown[]) => {
        options.onValues?.(values.length);
        queue.push([...values]);
      },
      onEnd: (value: unknown) => queue.end(value),
      onError: (error: unknown) => queue.fail(error),
      args,
    };
    const id = this.#open((callId) => callFrame(callId, method, args, true, options), sink, options);
    return acknowledging(queue, (values) => {
      if (this.#calls.has(id)) this.#send({ type: 'ack', id, values });
    });
  }

  /** Gives the replica another spec. This is not counted as a call. */
  reconfigure(spec: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const sink = {
        isBegun: true,
        onValue: resolve,
        onValues: () => {},
        onEnd: () => resolve(null),
        onError: reject,
        args: {},
      };
      this.#open((id) => ({ type: 'reconfigure', id, spec }), sink, {});
    });
  }

  onAnswer(frame: CallAnswer): void {
    switch (frame.type) {
      case 'chunks':
        for (const { id, values } of frame.batches) this.#calls.get(id)?.onValues(values);
        return;
      case 'begun': {
        const call = this.#calls.get(frame.id);
        if (call) call.isBegun = true;
        return;
      }
      case 'taken':
        this.#calls.get(frame.id)?.feed?.taken(frame.values);
        return;
      case 'result':
        this.#close(frame.id, (call) => call.onValue(frame.value));
        return;
      case 'bytes':
        this.#close(frame.id, (call) => call.onValue(frame.bytes));
        return;
      case 'end':
        this.#close(frame.id, (call) => call.onEnd(frame.value));
        return;
      case 'error':
        this.#close(frame.id, (call) => call.onError(fromErrorRecord(frame.error)));
        return;
      case 'full':
        this.#close(frame.id, (call) => call.onError(CALL_NOT_BEGUN));
        return;
      case 'call-progress':
        this.#calls.get(frame.id)?.onProgress?.(frame.fraction);
        return;
      default:
        frame satisfies never;
    }
  }

  /** Returns the meter of an open call. */
  meterOf(id: number): UsageMeter | undefined {
    return this.#calls.get(id)?.meter;
  }

  /** Returns the arguments of an open call. */
  argsOf(id: number): Readonly<Record<string, unknown>> | undefined {
    return this.#calls.get(id)?.args;
  }

  /** Cancels the calls that the other end did not say that it has begun. They end with {@link CALL_NOT_BEGUN}. */
  withdraw(): void {
    for (const [id, { isBegun }] of this.#calls) {
      if (isBegun) continue;
      this.#send({ type: 'cancel', id });
      this.#close(id, (call) => call.onError(CALL_NOT_BEGUN), CALL_NOT_BEGUN);
    }
  }

  /** Ends every open call with `error`, or with `notBegun` if the other end did not say that it has begun the call. */
  failAll(error: () => Error, notBegun: () => Error = error): void {
    for (const [id, { isBegun }] of this.#calls) {
      const loss = isBegun ? error() : notBegun();
      this.#close(id, (call) => call.onError(loss), loss);
    }
  }

  #open(
    frame: (id: number) => CallRequest | ReconfigureFrame,
    sink: Omit<OpenCall, 'release' | 'onSettled' | 'onProgress' | 'feed' | 'meter'>,
    { signal, onSettled, onProgress, feed: source, meter }: RpcCallOptions,
  ): number {
    const id = this.#nextId++;
    const onAbort = (): void => {
      sink.onError(signal?.reason ?? cancelledError());
      this.#cancel(id);
    };
    const feed = source && new FeedSender(source.values, (part) => this.#send({ ...part, id }));
    const release = (): void => {
      signal?.removeEventListener('abort', onAbort);
      feed?.stop();
    };
    const call: OpenCall = { ...sink, onProgress, onSettled, feed, meter, release };
    this.#calls.set(id, call);
    if (signal?.aborted) {
      this.#close(id, () => sink.onError(signal.reason));
      return id;
    }
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      this.#send(frame(id));
      void feed?.run();
    } catch (error) {
      this.#close(id, () => sink.onError(error)); // the frame is too large, or not JSON
    }
    return id;
  }

  /** Cancels a call whose caller has left. It stays open until the replica has ended it, too. */
  #cancel(id: number): void {
    const call = this.#calls.get(id);
    if (!call) return;
    call.release();
    call.onValues = () => {};
    call.onProgress = undefined;
    this.#send({ type: 'cancel', id });
  }

  #close(id: number, tell: (call: OpenCall) => void, loss?: Error): void {
    const call = this.#calls.get(id);
    if (!call) return;
    this.#calls.delete(id);
    call.release();
    tell(call);
    call.onSettled?.(loss);
    this.#onClosed?.(id);
  }
}

function callFrame(
  id: number,
  method: string,
  args: Record<string, unknown>,
  stream: boolean,
  { feed, onProgress, multiplexedModelId, beyond, unchecked, ...context }: RpcCallOptions,
): CallRequest {
  const progress = onProgress !== undefined && { progress: true };
  const wire = toWireContext(context);
  const { call: parent } = context;
  return {
    type: 'call',
    id,
    method,
    args,
    stream,
    feed: feed?.name,
    parent,
    multiplexedModelId,
    beyond,
    unchecked,
    context: wire,
    ...progress,
  };
}

/** Iterates over `queue`, and acknowledges the values of a batch when the reader asks for the next one. */
function acknowledging(
  queue: AsyncQueue<unknown[], unknown>,
  acknowledge: (values: number) => void,
): AsyncIterableIterator<unknown[], unknown> {
  let taken = 0;
  const settle = (): void => {
    if (taken > 0) acknowledge(taken);
    taken = 0;
  };
  return {
    async next(): Promise<IteratorResult<unknown[], unknown>> {
      settle();
      const step = await queue.next();
      if (step.done !== true) taken = step.value.length;
      return step;
    },
    return: () => queue.return(),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
