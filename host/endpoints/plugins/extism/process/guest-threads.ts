import { lookMs } from './computing.ts';
import { GuestThread } from './guest-thread.ts';
import { failureFrame, type ThreadInit } from './messages.ts';

/** Milliseconds after which a thread without work ends. */
const idleMs = 60_000;

export interface GuestThreadsOptions {
  readonly init: Omit<ThreadInit, 'control'>;
  /** Runs at a time. */
  readonly slots: number;
  /** Sends a frame to the host. */
  readonly onFrame: (frame: Uint8Array) => void;
}

/** The threads of a process. They start when runs need them. */
export class GuestThreads {
  readonly #options: GuestThreadsOptions;
  readonly #running = new Map<number, GuestThread>();
  /** Threads without work, with the timers that end them. The one that was used last is the last. */
  readonly #idle: { readonly thread: GuestThread; readonly timer: NodeJS.Timeout }[] = [];
  /** Runs while there are runs. */
  #looks: NodeJS.Timeout | undefined;

  constructor(options: GuestThreadsOptions) {
    this.#options = options;
  }

  run(invocation: number, payload: Uint8Array): void {
    const { slots, onFrame } = this.#options;
    if (this.#running.size >= slots) return onFrame(failureFrame(invocation, 0, 'busy', `${slots} runs are in it`));
    let thread: GuestThread;
    try {
      thread = this.#take();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return onFrame(failureFrame(invocation, 0, 'busy', `no thread can be started: ${reason}`));
    }
    this.#running.set(invocation, thread);
    this.#looks ??= setInterval(() => this.#look(), lookMs);
    thread.run(invocation, payload);
  }

  /** Passes on a frame for a run that has not ended. */
  post(invocation: number, kind: 'answer' | 'refuse' | 'credit', payload: Uint8Array): void {
    this.#running.get(invocation)?.post({ kind, payload });
  }

  /** Tells a guest that it is cancelled. */
  warn(invocation: number): void {
    this.#running.get(invocation)?.warn();
  }

  cancel(invocation: number): void {
    this.#running.get(invocation)?.end('cancelled', '');
  }

  #take(): GuestThread {
    for (let last = this.#idle.pop(); last; last = this.#idle.pop()) {
      clearTimeout(last.timer);
      if (!last.thread.hasEnded) return last.thread;
    }
    const { init, onFrame } = this.#options;
    const thread: GuestThread = new GuestThread(init, { onFrame, onFree: () => this.#freed(thread) });
    return thread;
  }

  #freed(thread: GuestThread): void {
    for (const [invocation, each] of this.#running) if (each === thread) this.#running.delete(invocation);
    this.#forget(thread);
    if (this.#running.size === 0) {
      clearInterval(this.#looks);
      this.#looks = undefined;
    }
    if (!thread.hasEnded) this.#idle.push({ thread, timer: setTimeout(() => this.#retire(thread), idleMs) });
  }

  /** Removes a thread from those that wait for work. */
  #forget(thread: GuestThread): void {
    const at = this.#idle.findIndex((each) => each.thread === thread);
    if (at >= 0) clearTimeout(this.#idle.splice(at, 1)[0]!.timer);
  }

  #retire(thread: GuestThread): void {
    this.#forget(thread);
    thread.end('trap', 'it has no work');
  }

  #look(): void {
    for (const thread of this.#running.values()) thread.look();
  }
}
