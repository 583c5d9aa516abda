import type { LoadedComponent } from '../component/loaded-component.ts';
import type { PluginLimits } from '../rights/limits.ts';
import { PluginWorker, type PluginWorkerEvents } from './plugin-worker.ts';
import type { RuntimeMode, WitEndpoint } from '../invocation/protocol.ts';

/**
 * How often threads are looked at while invocations wait for one, in milliseconds. Each look wakes the host's thread:
 * every 5 ms, looks cost 4 % of the computing of a no-op under load.
 */
const lookIntervalMs = 10;
/**
 * Most invocations that a thread has and has not begun. Enough for one turn of the host's event loop to answer many at
 * once, which costs less than waking both threads for each; further ones wait in the host, where users take turns.
 */
const maxAhead = 64;

export interface PluginThreadsOptions {
  readonly component: LoadedComponent;
  readonly mode: RuntimeMode;
  readonly limits: PluginLimits;
  /** Threads with one invocation each at a time, instead of what the limits say for endpoints. */
  readonly helperThreads?: number | undefined;
  /** Pages of the plugin's instances, which all of its threads share. */
  readonly pages: Int32Array;
  readonly events: PluginWorkerEvents;
  /** Called when {@link PluginThreads.choose} may have a thread for those that wait. */
  onRoom(): void;
  /**
   * Called with invocations that a thread has not begun because a guest holds it. The thread will not run them: they go
   * to another one.
   */
  onTakenBack(ids: readonly number[]): void;
  /** Called when a further thread did not start. `isLast` says that there is no other one. */
  onStartFailed(error: unknown, isLast: boolean): void;
}

/**
 * The threads of one plugin. No invocation waits behind a guest that holds its thread: those that the thread has not
 * begun are taken back when another thread is free, and have a further one started when the guest goes on. Threads
 * beyond the first end when they were not needed for a while.
 */
export class PluginThreads {
  readonly #options: PluginThreadsOptions;
  readonly #threads = new Set<PluginWorker>();
  /** Ends of threads that are gone from {@link #threads}. */
  readonly #ending = new Set<Promise<void>>();
  #starting = 0;
  /** Whether further threads can be started, as far as is known. */
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

  /** Starts a thread and gives what the plugin says it offers. */
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
   * The thread for the next invocation: the first one that is free now, so that further ones can end; or else one whose
   * guest came just now and may be done soon; or else one that a guest holds, from which the invocation can be taken
   * back. Of several the one with the least to do. Undefined when the invocation must wait in the host.
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
    if (best && !best.slots.isEmpty) this.#look(); // another guest may hold it before this one begins
    return best;
  }

  /** Told how many invocations wait because {@link choose} has no thread for them. */
  wanted(waiting: number): void {
    this.#waiting = waiting;
    if (waiting === 0 || this.#isFull) return;
    if (this.#isWorthStarting) this.#startSpare();
    this.#look();
  }

  /** Invocations that wait for a thread, or in one that a guest holds. */
  get #held(): number {
    return [...this.#threads].reduce((sum, { slots, hold }) => sum + (hold.isLong ? slots.notBegun : 0), this.#waiting);
  }

  /** Ends a thread, whatever it does. Returns false when it was ended already or is not ready yet. */
  remove(thread: PluginWorker): boolean {
    if (!this.#threads.delete(thread)) return false;
    this.#end(thread);
    if (!this.#isClosed && this.#threads.size + this.#starting === 0) this.#startSpare();
    return true;
  }

  /** Ends all threads. Resolves when they have ended. */
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

  /** Invocations of one thread at a time. */
  get #slotCount(): number {
    return this.#isSuspending ? this.#options.limits.maxSuspended : 1;
  }

  /** Whether no further invocation may run before one has ended, whatever the threads do. */
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

  /** Where one thread carries many invocations, looks at the threads until nobody waits for one. */
  #look(): void {
    if (!this.#isSuspending || this.#isClosed) return;
    this.#looking ??= setInterval(() => {
      const threads = [...this.#threads];
      const held = threads.filter(({ hold }) => hold.isLong);
      const hasOther = threads.some((thread) => thread.slots.free > 0 && !held.includes(thread));
      if (hasOther) for (const thread of held) this.#takeBack(thread);
      this.#options.onRoom(); // says how many wait
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
