import { Worker } from 'node:worker_threads';
import type { FailureCode } from '../../sandbox/sandbox-invocation.ts';
import { cell, newControl, threadMsOf, Watch } from './computing.ts';
import { failureFrame, type FromThread, type ThreadInit, type ToThread } from './messages.ts';

/** Megabytes of a thread's heap. The memory of a guest, and blocks, lie outside of it. */
const heap = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 4, codeRangeSizeMb: 64, stackSizeMb: 4 };

export interface GuestThreadEvents {
  /** Sends a frame to the host. */
  onFrame(frame: Uint8Array): void;
  /** Called when the run or the thread has ended. The thread is free, unless it has ended, too. */
  onFree(thread: GuestThread): void;
}

/** One thread with at most one run. */
export class GuestThread {
  readonly #worker: Worker;
  readonly #cells: Int32Array;
  readonly #watch: Watch;
  readonly #events: GuestThreadEvents;
  /** A descriptor of the computing time of the thread, which is closed when the thread ends. */
  #cpuFile: number | undefined;
  #invocation: number | undefined;
  /** Why the thread is being ended, which takes long while it reads a long text. */
  #ending: { readonly code: FailureCode | 'cancelled'; readonly reason: string; readonly cpuMs: number } | undefined;

  /** Throws when the system has no memory or no thread left. */
  constructor(init: Omit<ThreadInit, 'control'>, events: GuestThreadEvents) {
    const control = newControl();
    this.#cells = new Int32Array(control);
    this.#watch = new Watch(control, () => threadMsOf(this.#cpuFile));
    this.#events = events;
    this.#worker = new Worker(new URL('./thread.js', import.meta.url), {
      workerData: { ...init, control } satisfies ThreadInit,
      env: {},
      // Without `execArgv`, whose presence would take the permissions of Node from the thread.
      resourceLimits: heap,
    });
    this.#worker.on('message', (message: FromThread) => this.#take(message));
    this.#worker.on('error', (error) => {
      this.#cpuFile = undefined; // it is closed, and may be another file already
      this.end('trap', reasonOf(error));
    });
    this.#worker.on('exit', () => this.#exited());
  }

  /** The run that the thread has. */
  get invocation(): number | undefined {
    return this.#invocation;
  }
  /** Whether it has ended or is being ended. */
  get hasEnded(): boolean {
    return this.#ending !== undefined;
  }

  run(invocation: number, payload: Uint8Array): void {
    this.#invocation = invocation;
    Atomics.store(this.#cells, cell.isEnding, 0);
    this.post({ kind: 'run', invocation, payload });
  }

  /** Sends a message, and wakes the guest if it waits. */
  post(message: ToThread): void {
    const payload = new Uint8Array(message.payload); // without what else lies in its buffer
    this.#worker.postMessage({ ...message, payload }, [payload.buffer]);
    this.#wake();
  }

  /** Tells the guest that it is cancelled. */
  warn(): void {
    Atomics.store(this.#cells, cell.isEnding, 1);
    this.#wake();
  }

  /** Ends the run when it has computed for too long. */
  look(): void {
    if (this.#ending) return;
    const overdue = this.#watch.look();
    if (!overdue) return;
    const { code, limitMs } = overdue;
    const within = code === 'cpu' ? '' : ' without a call of the host';
    this.end(code, `it computes for more than ${limitMs} ms${within}`);
  }

  /** Ends the thread, and then its run with this reason. */
  end(code: FailureCode | 'cancelled', reason: string): void {
    if (this.#ending) return;
    this.#ending = { code, reason, cpuMs: this.#watch.cpuMs };
    void this.#worker.terminate();
  }

  /** Reports the end of the run only now, because the thread has had its place and its memory so far. */
  #exited(): void {
    this.#cpuFile = undefined;
    this.end('trap', 'its thread has ended');
    const { code, reason, cpuMs } = this.#ending!;
    if (this.#invocation !== undefined) this.#events.onFrame(failureFrame(this.#invocation, cpuMs, code, reason));
    this.#over();
  }

  #wake(): void {
    Atomics.add(this.#cells, cell.wake, 1);
    Atomics.notify(this.#cells, cell.wake);
  }

  #take(message: FromThread): void {
    if (this.#ending) return;
    switch (message.kind) {
      case 'up':
        this.#cpuFile = message.cpuFile;
        return;
      case 'overrun':
        return this.end(message.code, message.reason);
      case 'frame':
        this.#events.onFrame(message.frame);
        if (message.isLast) this.#over();
    }
  }

  #over(): void {
    this.#invocation = undefined;
    this.#events.onFree(this);
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'it has no memory left' : error.message;
}
