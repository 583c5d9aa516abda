import { AsyncQueue } from '../../base/core/async/async-queue.ts';
import { type Deferred, deferred } from '../../base/core/deferred.ts';
import { type ErrorRecord, fromErrorRecord, toErrorRecord } from '../../base/core/errors.ts';
import { FEED_WINDOW, type CallRequest } from './frames.ts';

/** Values that a caller sends into a running call: an argument of the method that is an async iterable. */
export interface Feed {
  /** Name of the argument. */
  readonly name: string;
  /** JSON values. They are asked for only as fast as the method takes them. */
  readonly values: AsyncIterable<unknown>;
}

type WithoutId<F> = F extends unknown ? Omit<F, 'id'> : never;
type FeedFrame = WithoutId<Extract<CallRequest, { type: 'feed' | 'fed' }>>;

/** The calling end of a feed: asks its source for values and sends them while the method takes them. */
export class FeedSender {
  readonly #values: AsyncIterable<unknown>;
  /** Undefined before the method takes the first value: the values can be sent into another call. */
  #source: AsyncIterator<unknown> | undefined;
  readonly #send: (frame: FeedFrame) => void;
  #window = 0;
  #room: Deferred<void> | undefined;
  #isStopped = false;

  constructor(values: AsyncIterable<unknown>, send: (frame: FeedFrame) => void) {
    this.#values = values;
    this.#send = send;
  }

  /** Sends all values, or the error of the source. Never rejects. */
  async run(): Promise<void> {
    try {
      for (;;) {
        if (this.#window <= 0) await (this.#room = deferred()).promise;
        if (this.#isStopped) return;
        this.#source ??= this.#values[Symbol.asyncIterator]();
        const step = await this.#source.next();
        if (this.#isStopped) return;
        if (step.done === true) break;
        this.#window -= 1;
        this.#send({ type: 'feed', values: [step.value] });
      }
      this.#end();
    } catch (error) {
      if (!this.#isStopped) this.#end(toErrorRecord(error));
    }
  }

  /** Records that `values` more values may be sent: at first those that the replica grants to a call that it runs. */
  taken(values: number): void {
    this.#window = Math.min(FEED_WINDOW, this.#window + values);
    this.#room?.resolve();
  }

  /** Closes the source without waiting for it, because the call has ended. May be called twice. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#room?.resolve();
    void Promise.resolve(this.#source?.return?.()).catch(() => {}); // nobody is left to tell
  }

  #end(error?: ErrorRecord): void {
    this.#send({ type: 'fed', error });
    this.stop();
  }
}

/** The method's end of a feed: an argument that can be read once. */
export class FeedReceiver implements AsyncIterableIterator<unknown> {
  readonly #values = new AsyncQueue<{ readonly value: unknown }>();
  readonly #onTaken: () => void;

  /** `onTaken` is called when the method takes a value. */
  constructor(onTaken: () => void) {
    this.#onTaken = onTaken;
  }

  push(values: readonly unknown[]): void {
    for (const value of values) this.#values.push({ value });
  }

  /** Ends the feed after the values that have arrived; with an error of the caller, which the method then gets. */
  end(error: ErrorRecord | undefined): void {
    if (error) this.#values.fail(fromErrorRecord(error));
    else this.#values.end();
  }

  /** Ends the feed with the reason of a cancellation. */
  fail(reason: unknown): void {
    this.#values.fail(reason);
  }

  async next(): Promise<IteratorResult<unknown, undefined>> {
    const step = await this.#values.next();
    if (step.done === true) return { value: undefined, done: true };
    this.#onTaken();
    return { value: step.value.value, done: false };
  }

  async return(): Promise<IteratorResult<unknown, undefined>> {
    await this.#values.return();
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
