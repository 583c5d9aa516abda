import { Worker } from 'node:worker_threads';
import { deferred } from '../../../base/core/deferred.ts';
import type { LogLevel } from '../../../base/core/log/logger.ts';
import { ComputeWatch, threadCpuMs, watchIntervalMs } from './compute-watch.ts';
import type { LoadedComponent } from '../component/loaded-component.ts';
import { OutputRing } from '../invocation/output-ring.ts';
import {
  cell,
  type FromWorker,
  type HostCall,
  type HostReply,
  newControl,
  type Outcome,
  type RunMessage,
  type RuntimeMode,
  type WitEndpoint,
  type WorkerInit,
} from '../invocation/protocol.ts';
import { Slots } from './slots.ts';
import { ThreadHold } from './thread-hold.ts';
import type { MemoryLimits } from '../guest/instance-memory.ts';

/** Milliseconds in which the first instance of a new thread must have described its endpoints. */
const startTimeoutMs = 30_000;
/**
 * Maximum megabytes of the heap of a thread without the tables of its guests, which lie in the heap and count as memory
 * of the plugin.
 */
const baseHeapMb = 512;

export interface PluginWorkerOptions {
  readonly component: LoadedComponent;
  readonly mode: RuntimeMode;
  readonly slotCount: number;
  readonly cpuSliceMs: number;
  readonly memory: MemoryLimits;
  /** Pages of all of the plugin's instances, in all of its threads. */
  readonly pages: Int32Array;
}

/** Events of a worker, for its owner. */
export interface PluginWorkerEvents {
  onCall(id: number, request: HostCall, cpuMs: number): Promise<HostReply>;
  /** Called when the ring from {@link PluginWorker.run} has new chunks. */
  onOutput(id: number): void;
  onDrop(id: number, handle: number): void;
  onProgress(id: number, fraction: number, text: string, until: number | undefined): void;
  onLog(id: number | undefined, level: LogLevel, message: string, fields: string): void;
  onDone(id: number, outcome: Outcome, cpuMs: number): void;
  /** Called when the slot of an abandoned invocation, or of one that was taken back, is free. */
  onFree(): void;
  /**
   * Called when a message of the invocation could not be handled. The id is undefined for a message without an
   * invocation.
   */
  onFault(id: number | undefined, error: unknown): void;
  /** Called when the guest of the invocation in `slot` has held the thread for longer than the limit. */
  onStuck(worker: PluginWorker, slot: number): void;
  /** Called when the thread has ended unexpectedly. `slot` is the slot of the guest that was on the thread. */
  onDeath(worker: PluginWorker, slot: number | undefined, reason: string): void;
}

/** One thread with instances of one component. It knows slots and invocations by number only. */
export class PluginWorker {
  readonly #worker: Worker;
  readonly #control: Int32Array;
  readonly #events: PluginWorkerEvents;
  readonly #computeWatch: ComputeWatch;
  readonly #pages: Int32Array;
  readonly #cpuSliceMs: number;
  /** The thread's folder in `/proc`. */
  #thread: string | undefined;
  readonly #slots: Slots;
  readonly #hold: ThreadHold;
  readonly #rings: (OutputRing | undefined)[] = [];
  readonly #ready = deferred<readonly WitEndpoint[]>();
  #idleSince = performance.now();
  /** The timer of looks. It runs while the first instance is created, and while the thread has invocations. */
  #watch: NodeJS.Timeout | undefined = setInterval(() => this.#look(), watchIntervalMs);
  #isEnded = false;

  constructor(
    { component, mode, slotCount, cpuSliceMs, memory, pages }: PluginWorkerOptions,
    events: PluginWorkerEvents,
  ) {
    this.#events = events;
    this.#pages = pages;
    this.#cpuSliceMs = cpuSliceMs;
    const control = newControl();
    this.#control = new Int32Array(control.buffer);
    this.#slots = new Slots(this.#control, slotCount);
    this.#hold = new ThreadHold(this.#control, () => threadCpuMs(this.#thread));
    this.#computeWatch = new ComputeWatch(
      this.#control,
      { cpuSliceMs, isInterruptible: component.interrupts !== 'never' },
      () => threadCpuMs(this.#thread),
    );
    const { glue, modules, isRestorable, initialBytes } = component;
    this.#worker = new Worker(new URL('../guest/main.js', import.meta.url), {
      workerData: { mode, glue, modules, isRestorable, initialBytes, memory, pages, control } satisfies WorkerInit,
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: baseHeapMb + memory.plugin / 2 ** 20, stackSizeMb: 4 },
    });
    for (const output of [this.#worker.stdout, this.#worker.stderr]) {
      output.on('data', (text: Buffer) => events.onLog(undefined, 'debug', text.toString().trimEnd(), ''));
    }
    this.#worker.on('message', (message: FromWorker) => this.#take(message));
    this.#worker.on('messageerror', (error) => this.#died(`a message of it cannot be read: ${error.message}`));
    this.#worker.on('error', (error) => this.#died(error instanceof Error ? error.message : String(error)));
    this.#worker.on('exit', () => this.#died('the thread has ended'));
  }

  /** The endpoints that the first instance describes. Rejects when the component cannot be instantiated. */
  async ready(): Promise<readonly WitEndpoint[]> {
    const timer = setTimeout(
      () => this.#ready.reject(new Error(`it did not start within ${startTimeoutMs} ms`)),
      startTimeoutMs,
    );
    try {
      return await this.#ready.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The invocations that the host has given to the thread. */
  get slots(): Slots {
    return this.#slots;
  }

  /** The guest that occupies the thread. */
  get hold(): ThreadHold {
    return this.#hold;
  }

  /** Milliseconds since the last invocation ended. 0 while there is an invocation. */
  get idleMs(): number {
    return this.#slots.isEmpty ? performance.now() - this.#idleSince : 0;
  }

  /** Starts an invocation in a free slot. Returns the ring for its output when the invocation streams. */
  run(invocation: Omit<RunMessage, 'type' | 'slot' | 'ring'>): OutputRing | undefined {
    const slot = this.#slots.take(invocation.id);
    const known = this.#rings[slot];
    known?.clear();
    const ring = invocation.outputBytes === undefined ? undefined : (this.#rings[slot] ??= new OutputRing());
    this.#worker.postMessage({
      type: 'run',
      slot,
      ...invocation,
      ...(ring && ring !== known && { ring: ring.memory }),
    } satisfies RunMessage);
    this.#watch ??= setInterval(() => this.#look(), watchIntervalMs);
    return ring;
  }

  /** Forgets an invocation that waits for the host. The slot is free after the worker has confirmed it. */
  abandon(id: number): void {
    this.#worker.postMessage({ type: 'abandon', id });
  }

  /** Makes an invocation that computes now trap. An invocation that waits, or whose modules do not look, continues. */
  interrupt(id: number): void {
    const entry = Atomics.load(this.#control, cell.entries);
    const running = Atomics.load(this.#control, cell.running);
    if (running > 0 && this.#slots.idIn(running - 1) === id) this.#stop(entry);
  }

  /** Makes a guest trap, unless another guest was entered meanwhile. */
  #stop(entry: number): void {
    Atomics.compareExchange(this.#control, cell.entries, entry, entry | 1);
  }

  /** Ends the thread immediately. */
  async terminate(): Promise<void> {
    this.#isEnded = true;
    clearInterval(this.#watch);
    this.#ready.reject(new Error('the worker was ended'));
    this.#ready.promise.catch(() => {});
    await this.#worker.terminate();
    this.#giveMemoryBack();
  }

  /**
   * Handles a message of the thread. An error fails the invocation and never the process, because a guest decides what
   * messages contain.
   */
  #take(message: FromWorker): void {
    if (this.#isEnded) return;
    try {
      this.#receive(message);
    } catch (error) {
      this.#events.onFault('id' in message ? message.id : undefined, error);
    }
  }

  #receive(message: FromWorker): void {
    switch (message.type) {
      case 'started':
        this.#thread = message.thread;
        return;
      case 'ready':
        this.#ready.resolve(message.endpoints);
        this.#rest();
        return;
      case 'broken':
        this.#ready.reject(new Error(message.reason));
        return;
      case 'call':
        void this.#answer(message);
        return;
      case 'output':
        this.#events.onOutput(message.id);
        return;
      case 'drop':
        this.#events.onDrop(message.id, message.handle);
        return;
      case 'progress':
        this.#events.onProgress(message.id, message.fraction, message.text, message.until);
        return;
      case 'log':
        this.#events.onLog(message.id, message.level, message.message, message.fields);
        return;
      case 'done':
        this.#free(message.id);
        this.#events.onDone(message.id, message.outcome, message.cpuMs);
        return;
      case 'abandoned':
        this.#free(message.id);
        this.#events.onFree();
        return;
      case 'skipped':
        this.#slots.releaseGone(message.slot);
        this.#rest();
        this.#events.onFree();
        return;
      default:
        message satisfies never;
    }
  }

  async #answer({ id, call, request, cpuMs }: FromWorker & { type: 'call' }): Promise<void> {
    try {
      const reply = await this.#events.onCall(id, request, cpuMs);
      if (this.#isEnded) return;
      this.#worker.postMessage({ type: 'reply', id, call, reply });
      Atomics.store(this.#control, cell.wake, 1);
      Atomics.notify(this.#control, cell.wake);
    } catch (error) {
      this.#events.onFault(id, error); // the guest waits until the owner ends it
    }
  }

  #free(id: number): void {
    if (this.#slots.release(id)) this.#rest();
  }

  /** Stops the looks when there is no invocation. */
  #rest(): void {
    if (!this.#slots.isEmpty) return;
    this.#idleSince = performance.now();
    clearInterval(this.#watch);
    this.#watch = undefined;
  }

  #look(): void {
    const overdue = this.#computeWatch.look();
    if (overdue === undefined) return;
    const { slot, entry, measure } = overdue;
    if (measure === 'stop') this.#stop(entry);
    else if (slot < this.#slots.count) this.#events.onStuck(this, slot);
    else this.#ready.reject(new Error(`it computed for more than ${this.#cpuSliceMs} ms`));
  }

  #died(reason: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#watch);
    this.#giveMemoryBack();
    this.#ready.reject(new Error(reason));
    this.#ready.promise.catch(() => {});
    const running = Atomics.load(this.#control, cell.running);
    this.#events.onDeath(this, running > 0 ? running - 1 : undefined, reason);
  }

  /** Called after the thread and its instances are gone. */
  #giveMemoryBack(): void {
    Atomics.sub(this.#pages, 0, Atomics.exchange(this.#control, cell.pages, 0));
  }
}
