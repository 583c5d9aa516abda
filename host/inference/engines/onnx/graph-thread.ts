import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { raceAbort } from '../../../base/core/abort.ts';
import { Limiter } from '../../../base/core/async/limiter.ts';
import type { GraphAnswer, GraphQuestion, GraphSpec, LoadedGraph } from './graph-thread-main.ts';
import type { OnnxTensor } from './runtime.ts';

export interface GraphThreadOptions extends GraphSpec {
  /** Bytes that this process may have in memory. */
  readonly maxMemoryBytes: number;
}

/** A computation, or the loading of a model, that the runtime refused. The message is its reason. */
export class RefusedByRuntime extends Error {}

type Loaded = Exclude<LoadedGraph, { reason: string }>;

/** Time between two looks at the memory of the process while the thread works. */
const LOOK_MS = 50;

/**
 * A model in a thread of its own. The runtime computes in the thread that calls it and cannot be interrupted, so this
 * thread stays free for health checks and cancelled calls. The process ends when it needs too much memory.
 */
export class GraphThread {
  readonly graph: Loaded;
  /** Finished computations. */
  runs = 0;
  readonly #worker: Worker;
  readonly #maxMemoryBytes: number;
  readonly #turn = new Limiter(1);
  #isBusy = false;

  private constructor(worker: Worker, graph: Loaded, maxMemoryBytes: number) {
    this.#worker = worker;
    this.graph = graph;
    this.#maxMemoryBytes = maxMemoryBytes;
  }

  /** Rejects with `RefusedByRuntime` for a model that the runtime cannot load. */
  static async load({ maxMemoryBytes, ...spec }: GraphThreadOptions): Promise<GraphThread> {
    const worker = new Worker(new URL('./graph-thread-main.js', import.meta.url), { workerData: spec });
    const loaded = await answerOf<LoadedGraph>(worker, maxMemoryBytes);
    if (!('reason' in loaded)) return new GraphThread(worker, loaded, maxMemoryBytes);
    await worker.terminate();
    throw new RefusedByRuntime(loaded.reason);
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  /**
   * Computes outputs. A call that is aborted while it waits is never computed. One that is computed ends for its
   * caller, and its computation goes on. Rejects with `RefusedByRuntime` or the signal's reason.
   */
  run(question: GraphQuestion, signal: AbortSignal): Promise<Readonly<Record<string, OnnxTensor>>> {
    const work = async (): Promise<Readonly<Record<string, OnnxTensor>>> => {
      this.#isBusy = true;
      try {
        this.#worker.postMessage(question);
        const answer = await answerOf<GraphAnswer>(this.#worker, this.#maxMemoryBytes);
        if ('reason' in answer) throw new RefusedByRuntime(answer.reason);
        return answer.outputs;
      } finally {
        this.runs += 1;
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
async function answerOf<Answer>(worker: Worker, maxMemoryBytes: number): Promise<Answer> {
  const look = setInterval(() => {
    if (process.memoryUsage.rss() <= maxMemoryBytes) return;
    writeSync(2, `the model needs more than ${maxMemoryBytes} bytes of memory (max_memory_bytes)\n`);
    process.kill(process.pid, 'SIGKILL'); // any other end of the process waits for the computation
  }, LOOK_MS);
  try {
    const [answer] = (await once(worker, 'message')) as [Answer];
    return answer;
  } finally {
    clearInterval(look);
  }
}
