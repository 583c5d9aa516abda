import type { LoadedComponent } from '../component/loaded-component.ts';
import type { PluginLimits } from '../rights/limits.ts';
import { PluginWorker, type PluginWorkerEvents } from './plugin-worker.ts';
import type { RuntimeMode, WitEndpoint } from '../invocation/protocol.ts';

/**
 * Milliseconds between two looks at the threads while invocations wait for one. Each look wakes the host's thread: an
 * interval of 5 ms costs 4 % of the computing time of a no-op under load.
 */
const lookIntervalMs = 10;
/**
 * The maximum number of invocations that wait in one thread. It is large enough that the host answers many requests in
 * one turn of its event loop, because waking both threads for each one costs more. Further invocations wait in the
 * host, where users take turns.
 */
const maxAhead = 64;

export interface PluginThreadsOptions {
  readonly component: LoadedComponent;
  readonly mode: RuntimeMode;
  readonly limits: PluginLimits;
  /** Number of threads with one invocation at a time each. Undefined: as the limits say for endpoints. */
  readonly helperThreads?: number | undefined;
  /** Pages of the plugin's instances, which all of its threads share. */
  readonly pages: Int32Array;
  readonly events: PluginWorkerEvents;
  /** Called when {@link PluginThreads.choose} may have a thread for a waiting invocation. */
  onRoom(): void;
  /**
   * Called with invocations that a thread has not begun, because a guest holds it. They must be given to another
   * thread.
   */
  onTakenBack(ids: readonly number[]): void;
  /** Called when a further thread did not start. `isLast` is true when no other thread is left. */
  onStartFailed(error: unknown, isLast: boolean): void;
}

/**
 * The threads of one plugin. No invocation waits behind a guest that holds its thread. When another thread is free, it
 * takes over the invocations that the held thread has not begun. When the guest goes on, a further thread is started.
 * Threads beyond the first end when they have been idle for a while.
 */
export class PluginThreads {
  readonly #options: PluginThreadsOptions;
  readonly #threads = new Set<PluginWorker>();
  /** The exits of threads that were removed from {@link #threads}. */
  readonly #ending = new Set<Promise<void>>();
  #starting = 0;
  /** Whether further threads can be started. False after a failed start. */
  #mayGrow = true;
  #isClosed = false;
  /** Invocations that wait for a thread. */
  #waiting = 0;
  #looking: NodeJS.Timeout | undefined;
  #retiring: NodeJS.Timeout | undefined;

  constructor(options: PluginThreadsOptions) {
    this.#options = options;
  }

  /** Threads that are ready. */
  get size(): number {
    return this.#threads.size;
  }

  /** Starts a thread. Returns the endpoints that the plugin describes. */
  async start(): Promise<readonly WitEndpoint[]> {
    const { component, mode, limits, pages, events, onRoom } = this.#options;
    const { memoryBytes, totalMemoryBytes, maxSuspended, maxThreads } = limits;
    const plugin = Math.max(totalMemoryBytes, memoryBytes);
    const memory = {
      instance: memoryBytes,
      plugin,
      share: plugin / (mode === 'suspending' ? maxSuspended : maxThreads),
    };
    this.#starting++;
    const thread = new PluginWorker(
      { component, mode, slotCount: this.#slotCount, cpuSliceMs: limits.cpuSliceMs, memory, pages },
      events,
    );
    try {
      const endpoints = await thread.ready();
      if (this.#isClosed) throw new Error('the plugin was closed');
      this.#threads.add(thread);
      this.#retireLater();
      return endpoints;
    } catch (error) {
      await thread.terminate();
      throw error;
    } finally {
      this.#starting--;
      onRoom();
    }
  }

  /**
   * Returns the thread for the next invocation. It prefers the first free thread, so that later threads can end. Next
   * comes a thread whose guest was entered just now, because it may end soon. Last comes a thread that a guest holds,
   * because the invocation can be taken back. Among equal threads the one with the least work is chosen. Returns
   * undefined when the invocation must wait in the host.
   */
  choose(): PluginWorker | undefined {
    if (this.#isFull) return undefined;
    let best: PluginWorker | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const thread of this.#threads) {
      const { slots, hold } = thread;
      if (slots.free === 0 || (slots.used >= maxAhead && slots.notBegun >= maxAhead)) continue;
      const todo = hold.isLong ? slots.count + slots.used : hold.isTaken ? slots.used : 0;
      if (todo < least) [best, least] = [thread, todo];
    }
    if (best && !best.slots.isEmpty) this.#look(); // another guest may occupy the thread before this invocation begins
    return best;
  }

  /** Takes the number of invocations that wait because {@link choose} found no thread. */
  wanted(waiting: number): void {
    this.#waiting = waiting;
    if (waiting === 0 || this.#isFull) return;
    if (this.#isWorthStarting) this.#startSpare();
    this.#look();
  }

  /** Invocations that wait for a thread, or in a thread that a guest holds. */
  get #held(): number {
    return [...this.#threads].reduce((sum, { slots, hold }) => sum + (hold.isLong ? slots.notBegun : 0), this.#waiting);
  }

  /** Ends a thread immediately. Returns false when the thread has ended already or is not ready yet. */
  remove(thread: PluginWorker): boolean {
    if (!this.#threads.delete(thread)) return false;
    this.#end(thread);
    if (!this.#isClosed && this.#threads.size + this.#starting === 0) this.#startSpare();
    return true;
  }

  /** Ends all threads. Resolves after the last one has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#looking);
    clearTimeout(this.#retiring);
    for (const thread of this.#threads) this.#end(thread);
    this.#threads.clear();
    await Promise.all(this.#ending);
  }

  #end(thread: PluginWorker): void {
    const ended = thread.terminate().catch(() => {});
    this.#ending.add(ended);
    void ended.then(() => this.#ending.delete(ended));
  }

  get #isSuspending(): boolean {
    return this.#options.mode === 'suspending' && this.#options.helperThreads === undefined;
  }

  /** The maximum number of invocations in one thread at a time. */
  get #slotCount(): number {
    return this.#isSuspending ? this.#options.limits.maxSuspended : 1;
  }

  /** Whether the plugin has reached its limit of running invocations. */
  get #isFull(): boolean {
    let used = 0;
    for (const { slots } of this.#threads) used += slots.used;
    return used >= (this.#isSuspending ? this.#options.limits.maxSuspended : this.#maxThreads);
  }

  get #maxThreads(): number {
    return this.#options.helperThreads ?? this.#options.limits.maxThreads;
  }

  get #isWorthStarting(): boolean {
    if (!this.#mayGrow || this.#isClosed || this.#isFull || this.#threads.size + this.#starting >= this.#maxThreads)
      return false;
    if (!this.#isSuspending) return this.#waiting > this.#starting;
    const worth = [...this.#threads].filter(({ slots }) => slots.free > 0).map(({ hold }) => hold.isWorthThread());
    return this.#starting === 0 && worth.every(Boolean);
  }

  /** Looks at the threads while invocations wait, when one thread carries many invocations. */
  #look(): void {
    if (!this.#isSuspending || this.#isClosed) return;
    this.#looking ??= setInterval(() => {
      const threads = [...this.#threads];
      const held = threads.filter(({ hold }) => hold.isLong);
      const hasOther = threads.some((thread) => thread.slots.free > 0 && !held.includes(thread));
      if (hasOther) for (const thread of held) this.#takeBack(thread);
      this.#options.onRoom(); // the owner then calls `wanted`
      if (this.#held > 0 && this.#isWorthStarting) this.#startSpare();
      if ((this.#waiting > 0 && !this.#isFull) || threads.some(({ slots }) => slots.notBegun > 0)) return;
      clearInterval(this.#looking);
      this.#looking = undefined;
    }, lookIntervalMs);
  }

  #takeBack({ slots }: PluginWorker): void {
    if (slots.notBegun === 0) return;
    const ids = slots.ids.filter((id) => slots.takeBack(id));
    if (ids.length > 0) this.#options.onTakenBack(ids);
  }

  #startSpare(): void {
    this.start().catch((error: unknown) => {
      if (this.#isClosed) return;
      const isLast = this.#threads.size === 0;
      if (!isLast) this.#mayGrow = false; // the present threads do all the work
      this.#options.onStartFailed(error, isLast);
    });
  }

  #retireLater(): void {
    if (this.#threads.size < 2 || this.#isClosed) return;
    this.#retiring ??= setTimeout(() => {
      this.#retiring = undefined;
      for (const thread of [...this.#threads].slice(1)) {
        if (thread.idleMs >= this.#options.limits.idleMs) this.remove(thread);
      }
      this.#retireLater();
    }, this.#options.limits.idleMs).unref();
  }
}
