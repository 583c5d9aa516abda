import { FairQueue, type Queued } from '../../../base/core/fair-queue.ts';
import { tenantOf } from '../../../base/core/request-context.ts';
import type { CallContext } from '../class/deployment.ts';

/** A call that is computed together with others. */
export class BatchedCall implements Queued {
  readonly userId: string;
  readonly priority: number;
  readonly weight: number | undefined;
  readonly cost = 1;
  readonly arrivedAt: number = performance.now();
  readonly input: unknown;
  readonly context: CallContext;
  readonly #answer: Answer;
  readonly #onAbort = (): void => this.fail(this.context.signal.reason);
  #hasEnded = false;
  /** Called once, when the call has its whole answer or its caller has left. */
  onEnd: (() => void) | undefined;

  constructor(input: unknown, context: CallContext, answer: Answer) {
    const { priority = 0, weight, signal } = context;
    this.userId = tenantOf(context);
    this.priority = priority;
    this.weight = weight;
    this.input = input;
    this.context = context;
    this.#answer = answer;
    signal.addEventListener('abort', this.#onAbort, { once: true });
    if (signal.aborted) this.#onAbort();
  }

  /** Whether nothing more is to be computed for it. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Whether its reader takes values as fast as they come. */
  get hasRoom(): boolean {
    return this.#answer.hasRoom?.() ?? true;
  }

  give(value: unknown): void {
    if (this.#hasEnded) return;
    try {
      this.#answer.give(value);
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error: unknown): void {
    this.#end(() => this.#answer.fail(error));
  }

  /** Ends the call after the values that it got. */
  end(): void {
    this.#end(() => this.#answer.end?.());
  }

  #end(tell: () => void): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.context.signal.removeEventListener('abort', this.#onAbort);
    tell();
    this.onEnd?.();
  }
}

/** Where the results of one call go. */
export interface Answer {
  /** Throws when the value is wrong; the call then ends with the error. */
  give(value: unknown): void;
  fail(error: unknown): void;
  end?(): void;
  hasRoom?(): boolean;
}

export interface BatcherOptions {
  /** It may change, from one batch to the next. */
  readonly size: {
    readonly maxSize: number;
    /** Milliseconds that a call waits for others. */
    readonly waitMs: number;
  };
  /** Computes calls together and ends each of them. Never rejects. */
  run(calls: readonly BatchedCall[]): Promise<void>;
}

/** Puts calls of one method into batches, one batch after the other. Users take turns. */
export class Batcher {
  readonly #options: BatcherOptions;
  readonly #waiting = new FairQueue<BatchedCall>();
  #isRunning = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BatcherOptions) {
    this.#options = options;
  }

  add(call: BatchedCall): void {
    if (call.hasEnded) return;
    this.#waiting.add(call);
    call.onEnd = () => this.#waiting.remove(call);
    this.#plan();
  }

  /** Starts the next batch when it is full, or when its first call has waited long enough. */
  #plan(): void {
    if (this.#isRunning || this.#waiting.size === 0) return;
    const { maxSize, waitMs } = this.#options.size;
    if (this.#waiting.size >= maxSize) {
      void this.#start();
      return;
    }
    if (this.#timer) return;
    const first = Math.min(...[...this.#waiting].map(({ arrivedAt }) => arrivedAt));
    this.#timer = setTimeout(() => void this.#start(), Math.max(0, first + waitMs - performance.now()));
  }

  async #start(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const calls: BatchedCall[] = [];
    while (calls.length < this.#options.size.maxSize) {
      const call = this.#waiting.take();
      if (!call) break;
      call.onEnd = undefined;
      calls.push(call);
    }
    if (calls.length === 0) return; // all callers have left
    this.#isRunning = true;
    await this.#options.run(calls);
    this.#isRunning = false;
    this.#plan();
  }
}
