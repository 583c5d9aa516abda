import { setImmediate as turn } from 'node:timers/promises';
import { drained } from '../../base/core/async/async-values.ts';
import { cancelledError, fail, toErrorRecord } from '../../base/core/errors.ts';
import { fromWireContext, type RequestContext } from '../../base/core/request-context.ts';
import { FeedReceiver } from './feed.ts';
import { type Deferred, deferred } from '../../base/core/deferred.ts';
import { type CallAnswer, type CallRequest, FEED_WINDOW, protocolError, STREAM_WINDOW } from './frames.ts';
import type { ServedMethods } from './method.ts';

type CallFrame = Extract<CallRequest, { type: 'call' }>;

interface RunningCall {
  readonly id: number;
  readonly args: Readonly<Record<string, unknown>>;
  /** The call of this end for which a stream is made. */
  readonly streamOf: number | undefined;
  readonly controller: AbortController;
  readonly feed: FeedReceiver | undefined;
  /** Values that may be sent before the reader must take some. */
  window: number;
  room: Deferred<void> | undefined;
  /** Error of a stream value that could not be sent. */
  failure: { readonly error: unknown } | undefined;
}

/** Values of one stream, in order. */
interface Batch {
  readonly id: number;
  readonly values: readonly unknown[];
}

/** What limits the calls that run at the same time. */
export interface CallPlaces {
  /** Takes a place for a call, until {@link end}. Returns false when there is none. */
  begin(beyond: boolean): boolean;
  end(): void;
}

/** A call that runs. */
export interface ServedCallFacts {
  /** Its number, as its method gets it. */
  readonly id: number;
  readonly args: Readonly<Record<string, unknown>>;
  /** Aborted when it was cancelled. */
  readonly signal: AbortSignal;
}

export interface CallServerOptions {
  /** Returns the facts of the request that a call is for. Default: those that its frame has. */
  readonly contextOf?: ((frame: CallFrame) => RequestContext) | undefined;
  /** Default: any number of calls run at the same time. A call with a place gets `begun`, and another one `full`. */
  readonly places?: CallPlaces | undefined;
  /**
   * Whether methods begin after all that has come was read. Then `begun` has left, and a call that was taken back never
   * begins, although the method of another one holds this process. Default: a method begins at once.
   */
  readonly readsFirst?: boolean | undefined;
  /** Added to the number of a call, for methods. Default: 0. */
  readonly firstNumber?: number | undefined;
  /** Called when a call has ended. */
  readonly onEnded?: (() => void) | undefined;
}

/** The answering end of a connection. Runs all calls of the other end at the same time. */
export class CallServer {
  readonly #methods: ServedMethods;
  readonly #send: (frame: CallAnswer) => void;
  readonly #contextOf: (frame: CallFrame) => RequestContext;
  readonly #places: CallPlaces | undefined;
  readonly #readsFirst: boolean;
  readonly #firstNumber: number;
  readonly #onEnded: (() => void) | undefined;
  readonly #calls = new Map<number, RunningCall>();
  readonly #pending = new Map<number, unknown[]>();
  #flushing = false;

  constructor(methods: ServedMethods, send: (frame: CallAnswer) => void, options: CallServerOptions = {}) {
    const { contextOf = ({ context }) => fromWireContext(context), places, readsFirst = false } = options;
    const { firstNumber = 0, onEnded } = options;
    this.#methods = methods;
    this.#send = send;
    this.#contextOf = contextOf;
    this.#places = places;
    this.#readsFirst = readsFirst;
    this.#firstNumber = firstNumber;
    this.#onEnded = onEnded;
  }

  /** Throws `ReplicaProtocolError` for a call whose number is in use. */
  onRequest(frame: CallRequest): void {
    switch (frame.type) {
      case 'call':
        if (this.#calls.has(frame.id)) throw protocolError(`call number ${frame.id} is already in use`);
        void this.run(frame);
        return;
      case 'cancel':
        this.cancel(frame.id);
        return;
      case 'ack':
        this.acknowledge(frame.id, frame.values);
        return;
      case 'feed':
        this.#calls.get(frame.id)?.feed?.push(frame.values);
        return;
      case 'fed':
        this.#calls.get(frame.id)?.feed?.end(frame.error);
        return;
      default:
        frame satisfies never;
    }
  }

  /** Runs one call to its end. Never rejects. */
  async run(frame: CallFrame): Promise<void> {
    if (this.#places) {
      const type = this.#places.begin(frame.beyond === true) ? 'begun' : 'full';
      this.#send({ type, id: frame.id });
      if (type === 'full') return;
    }
    const call: RunningCall = {
      id: frame.id,
      args: frame.args,
      streamOf: frame.stream ? frame.parent : undefined,
      controller: new AbortController(),
      feed:
        frame.feed === undefined
          ? undefined
          : new FeedReceiver(() => this.#send({ type: 'taken', id: frame.id, values: 1 })),
      window: STREAM_WINDOW,
      room: undefined,
      failure: undefined,
    };
    this.#calls.set(frame.id, call);
    if (call.feed) this.#send({ type: 'taken', id: frame.id, values: FEED_WINDOW });
    try {
      if (this.#readsFirst) {
        await turn();
        call.controller.signal.throwIfAborted();
      }
      const method = Object.hasOwn(this.#methods, frame.method) ? this.#methods[frame.method] : undefined;
      if (!method) throw fail('MethodNotFound', `there is no method ${frame.method}`);
      const args = call.feed && frame.feed !== undefined ? { ...frame.args, [frame.feed]: call.feed } : frame.args;
      const progress = frame.progress === true ? this.#reporter(call) : undefined;
      const { signal } = call.controller;
      const { multiplexedModelId, unchecked, parent } = frame;
      const id = this.#firstNumber + frame.id;
      const context = { signal, progress, id, parent, multiplexedModelId, unchecked };
      const answer = method(args, Object.assign(this.#contextOf(frame), context));
      if (frame.stream) await this.#runStream(call, answer);
      else this.#answer(resultOf(frame.id, await answer));
    } catch (error) {
      this.#answer({ type: 'error', id: frame.id, error: toErrorRecord(error) });
    } finally {
      this.#calls.delete(frame.id);
      this.#places?.end();
      this.#onEnded?.();
    }
  }

  cancel(id: number): void {
    const call = this.#calls.get(id);
    const reason = cancelledError('the call was cancelled');
    call?.controller.abort(reason);
    call?.feed?.fail(reason);
    call?.room?.resolve();
  }

  /** Returns a function that sends the progress of a call while it runs: at most once for each percent. */
  #reporter({ id, controller: { signal } }: RunningCall): (fraction: number) => void {
    let reported = -1;
    return (fraction) => {
      const percent = Math.floor(fraction * 100);
      if (!(percent > reported && percent <= 100) || signal.aborted || !this.#calls.has(id)) return;
      reported = percent;
      this.#send({ type: 'call-progress', id, fraction });
    };
  }

  /** Cancels the streams that the other end has made for a call of this end and left open. */
  cancelStreamsOf(parent: number): void {
    for (const { id, streamOf } of this.#calls.values()) if (streamOf === parent) this.cancel(id);
  }

  /** Returns the calls that run, also those that were cancelled and have not ended yet. */
  *running(): Generator<ServedCallFacts, void> {
    for (const { id, args, controller } of this.#calls.values())
      yield { id: this.#firstNumber + id, args, signal: controller.signal };
  }

  cancelAll(): void {
    for (const id of this.#calls.keys()) this.cancel(id);
  }

  acknowledge(id: number, values: number): void {
    const call = this.#calls.get(id);
    if (!call) return;
    call.window = Math.min(STREAM_WINDOW, call.window + values);
    if (call.window > 0) call.room?.resolve();
  }

  async #runStream(call: RunningCall, answer: Promise<unknown> | AsyncIterable<unknown, unknown>): Promise<void> {
    if (!(Symbol.asyncIterator in answer)) throw fail('NotAStream', 'the method does not stream');
    const value = await drained(answer, (each) => {
      call.controller.signal.throwIfAborted();
      this.#queue(call, each);
      return call.window <= 0 ? this.#waitForRoom(call) : undefined;
    });
    call.controller.signal.throwIfAborted();
    this.#answer({ type: 'end', id: call.id, value });
  }

  async #waitForRoom(call: RunningCall): Promise<void> {
    call.room = deferred();
    await call.room.promise;
    call.room = undefined;
    call.controller.signal.throwIfAborted();
  }

  /** Queues a value. All values of one turn of the event loop, from all streams, are sent in one frame. */
  #queue(call: RunningCall, value: unknown): void {
    call.window -= 1;
    const values = this.#pending.get(call.id);
    if (values) values.push(value);
    else this.#pending.set(call.id, [value]);
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#flushing = false;
    if (this.#pending.size === 0) return;
    const batches = [...this.#pending].map(([id, values]) => ({ id, values }));
    this.#pending.clear();
    this.#sendBatches(batches);
  }

  /**
   * Sends values in as few frames as possible. A value that is too large for a frame fails its stream, which sends
   * nothing after it.
   */
  #sendBatches(all: readonly Batch[]): void {
    const batches = all.filter(({ id }) => !this.#calls.get(id)?.failure);
    if (batches.length === 0) return;
    try {
      this.#send({ type: 'chunks', batches });
    } catch (error) {
      const halves = halved(batches);
      if (halves) for (const half of halves) this.#sendBatches(half);
      else for (const { id } of batches) this.#failStream(id, error);
    }
  }

  #failStream(id: number, error: unknown): void {
    const call = this.#calls.get(id);
    if (!call) return;
    call.failure = { error };
    call.controller.abort(error);
    call.room?.resolve();
  }

  /** Sends the last frame of a call, after all values of its stream. */
  #answer(frame: Extract<CallAnswer, { type: 'result' | 'bytes' | 'end' | 'error' }>): void {
    this.#flush();
    const failure = this.#calls.get(frame.id)?.failure;
    try {
      this.#send(failure ? { type: 'error', id: frame.id, error: toErrorRecord(failure.error) } : frame);
    } catch (error) {
      this.#send({ type: 'error', id: frame.id, error: toErrorRecord(error) });
    }
  }
}

const resultOf = (id: number, value: unknown): Extract<CallAnswer, { type: 'result' | 'bytes' }> =>
  value instanceof Uint8Array ? { type: 'bytes', id, bytes: value } : { type: 'result', id, value };

/** Returns two smaller parts, or undefined for a single value. */
function halved(batches: readonly Batch[]): readonly (readonly Batch[])[] | undefined {
  const [first] = batches;
  if (!first) return undefined;
  if (batches.length > 1) return parts(batches);
  if (first.values.length < 2) return undefined;
  return parts(first.values).map((values) => [{ id: first.id, values }]);
}

function parts<T>(all: readonly T[]): readonly (readonly T[])[] {
  const middle = Math.ceil(all.length / 2);
  return [all.slice(0, middle), all.slice(middle)];
}
