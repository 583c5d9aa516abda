import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { raceAbort } from '../../../base/core/abort.ts';
import { Limiter } from '../../../base/core/async/limiter.ts';
import { notUsable, type UsedModel } from './not-usable.ts';
import { Pulse } from './pulse.ts';

/** A message of the thread that it could not do its work, with the runtime's reason. */
export interface Refusal {
  readonly reason: string;
}

/** A computation that the runtime refused. The message is its reason. */
export class RefusedByRuntime extends Error {}

/** Time between two looks at the memory of the process while the thread works. */
const LOOK_MS = 50;

/**
 * A model in a thread of its own. The ONNX Runtime computes in the thread that calls it and cannot be interrupted, so
 * this thread stays free for health checks and cancelled calls. The process ends when it needs too much memory.
 */
export class ComputeThread<Loaded extends object, Question, Answer extends object> {
  /** What the thread tells of its model. */
  readonly loaded: Loaded;
  readonly #pulse: Pulse;
  readonly #worker: Worker;
  readonly #maxMemoryBytes: number;
  readonly #turn = new Limiter(1);
  #isBusy = false;

  private constructor(worker: Worker, pulse: Pulse, loaded: Loaded, maxMemoryBytes: number) {
    this.#worker = worker;
    this.#pulse = pulse;
    // A thread that has ended, for example for want of heap, computes nothing more.
    worker.on('error', (error) =>
      setImmediate(() => {
        throw error;
      }),
    );
    this.loaded = loaded;
    this.#maxMemoryBytes = maxMemoryBytes;
  }

  /**
   * Starts the module `entry` with `spec` and the buffer of a {@link Pulse} as `pulse`. Its first message is `Loaded`.
   * Then it answers each message with one. Rejects with `ModelFormatError` for a model that the runtime refuses.
   * `maxMemoryBytes` is what this process may have in memory.
   */
  static async load<Loaded extends object, Question, Answer extends object>(
    entry: URL,
    spec: object,
    { model, maxMemoryBytes }: { readonly model: UsedModel; readonly maxMemoryBytes: number },
  ): Promise<ComputeThread<Loaded, Question, Answer>> {
    const pulse = new Pulse();
    const worker = new Worker(entry, { workerData: { ...spec, pulse: pulse.buffer } });
    try {
      return new ComputeThread(worker, pulse, await answerOf<Loaded>(worker, maxMemoryBytes), maxMemoryBytes);
    } catch (error) {
      await worker.terminate();
      throw error instanceof RefusedByRuntime ? notUsable(model, error.message) : error;
    }
  }

  /** Finished computations, and the steps that the thread counts within them. */
  get steps(): number {
    return this.#pulse.steps;
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  /**
   * Computes an answer. A call that is aborted while it waits is never computed. One that is computed ends for its
   * caller, and its computation goes on, or ends at its next step if the thread counts steps. Rejects with
   * `RefusedByRuntime` or the signal's reason.
   */
  run(question: Question, signal: AbortSignal): Promise<Answer> {
    const stop = (): void => {
      this.#pulse.isStopped = true;
    };
    const work = async (): Promise<Answer> => {
      this.#isBusy = true;
      this.#pulse.isStopped = signal.aborted;
      signal.addEventListener('abort', stop, { once: true });
      try {
        this.#worker.postMessage(question);
        return await answerOf<Answer>(this.#worker, this.#maxMemoryBytes);
      } finally {
        signal.removeEventListener('abort', stop);
        this.#pulse.step();
        this.#isBusy = false;
      }
    };
    return raceAbort(this.#turn.run(work, signal), signal);
  }

  /** Waits for the computation that goes on, because the runtime cannot be interrupted. */
  async close(): Promise<void> {
    await this.#turn.run(() => this.#worker.terminate());
  }
}

/** Waits for the next message of the thread, and watches the memory meanwhile. */
async function answerOf<Answer extends object>(worker: Worker, maxMemoryBytes: number): Promise<Answer> {
  const look = setInterval(() => {
    if (process.memoryUsage.rss() <= maxMemoryBytes) return;
    writeSync(2, `the model needs more than ${maxMemoryBytes} bytes of memory (max_memory_bytes)\n`);
    process.kill(process.pid, 'SIGKILL'); // any other end of the process waits for the computation
  }, LOOK_MS);
  try {
    const [answer] = (await once(worker, 'message')) as [Answer | Refusal];
    if ('reason' in answer) throw new RefusedByRuntime(answer.reason);
    return answer;
  } finally {
    clearInterval(look);
  }
}
