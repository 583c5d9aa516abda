import { type Deferred, deferred } from '../core/deferred.ts';
import { type AanaError, toErrorRecord } from '../core/errors.ts';
import { FairQueue } from '../core/fair-queue.ts';
import type { Logger, LogLevel } from '../core/logger.ts';
import { type RequestContext, requestContextOf } from '../core/request-context.ts';
import { HeldChars, heldCharsLimits } from './capabilities/held-chars.ts';
import { InvocationScope } from './capabilities/invocation-scope.ts';
import { RequestUrls } from './capabilities/request-urls.ts';
import type { LoadedComponent } from './loaded-component.ts';
import type { Granted } from './grants.ts';
import { endReason, guestFields, overCpuLimit, overCpuSlice, overDeadline, trapError, unavailable } from './invocation-errors.ts';
import type { PluginLimits } from './limits.ts';
import { PacedLog } from './paced-log.ts';
import type { PluginTelemetry } from './plugin-telemetry.ts';
import { PluginWorker, type PluginWorkerEvents } from './plugin-worker.ts';
import type { PluginPorts, UploadedFile } from './ports.ts';
import type { HostCall, HostReply, Outcome, RuntimeMode, WitEndpoint } from './protocol.ts';
import type { Task } from './task.ts';
import type { MemoryLimits } from './worker/instance-memory.ts';

/** One run of an endpoint. */
export interface PluginInvocation extends RequestContext {
  readonly endpoint: string;
  /** JSON object that matches the endpoint's input schema. */
  readonly input: string;
  readonly requestId: string;
  /** Milliseconds it may take from now, waiting for its turn included. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  readonly files: ReadonlyMap<string, UploadedFile>;
  /** The URLs of the request that it helps to answer, where `input` is not a client's. */
  readonly requestUrls?: RequestUrls | undefined;
  /** Takes one streamed value; resolves when the client has room for more, rejects when it has gone. */
  write?(chunk: string): Promise<void>;
  /** Told how far it has come: a fraction from 0 to 1, and what is being done. */
  onProgress?(fraction: number, text: string): void;
}

export interface PluginRuntimeOptions {
  readonly name: string;
  readonly component: LoadedComponent;
  readonly mode: RuntimeMode;
  readonly granted: Granted;
  /** Pages of the plugin's instances, which all of its threads share. */
  readonly pages: Int32Array;
  readonly ports: PluginPorts;
  readonly telemetry: PluginTelemetry;
  /** Gives a text of the guest with places in the plugin's sources instead of its bundle. */
  inSources(text: string): string;
  /** Runs a helper of the plugin; absent where helpers run. */
  readonly runHelper?: ((invocation: PluginInvocation) => Promise<string>) | undefined;
  /** Threads with one invocation each at a time, instead of what the limits say for endpoints. */
  readonly helperThreads?: number | undefined;
}

/** What a plugin does and did. */
export interface InvocationCounters {
  readonly running: number;
  readonly queued: number;
  readonly done: number;
  /** By the kind of the error. */
  readonly failed: Readonly<Record<string, number>>;
  /** Milliseconds that its guests computed. */
  readonly cpuMs: number;
}

/** Runs one plugin's invocations: at most so many at a time, each within its limits, in threads of the plugin's own. */
export class PluginRuntime {
  readonly #options: PluginRuntimeOptions;
  readonly #log: Logger;
  readonly #workers = new Set<PluginWorker>();
  readonly #queue = new FairQueue<Task>();
  readonly #tasks = new Map<number, Task>();
  readonly #events: PluginWorkerEvents;
  readonly #settling = new Set<Promise<void>>();
  readonly #lines = new PacedLog((lines) => this.#log.warn('lines of the plugin were dropped', { lines }));
  readonly #held: HeldChars;
  #starting = 0;
  /** Whether further threads can be started, as far as is known. */
  #mayGrow = true;
  #lastId = 0;
  #isClosed = false;
  #done = 0;
  #cpuMs = 0;
  readonly #failed: Record<string, number> = {};
  /** Deployments that runs of an endpoint have called, by its name. */
  readonly #calledBy = new Map<string, Set<string>>();
  /** Resolved when the last invocation has ended, once that is waited for. */
  #idle: Deferred<void> | undefined;

  constructor(options: PluginRuntimeOptions) {
    this.#options = options;
    this.#log = options.ports.log.child({ plugin: options.name });
    this.#held = new HeldChars(heldCharsLimits(options.granted.limits).plugin);
    this.#events = {
      onCall: (id, request, cpuMs) => this.#onCall(id, request, cpuMs),
      onOutput: (id) => this.#tasks.get(id)?.scope.output.take(),
      onDrop: (id, handle) => this.#tasks.get(id)?.scope.drop(handle),
      onProgress: (id, fraction, text) => this.#onProgress(id, fraction, text),
      onLog: (id, level, message, fields) => this.#onLog(id, level, message, fields),
      onDone: (id, outcome, cpuMs) => this.#onDone(id, outcome, cpuMs),
      onFault: (id, error) => this.#onFault(id, error),
      onStuck: (worker, slot) => this.#lose(worker, slot, 'computed too long', (task) => overCpuSlice(task.invocation.endpoint, this.#limits.cpuSliceMs)),
      onDeath: (worker, slot, reason) => this.#lose(worker, slot, reason, (task) => trapError(options.name, task.invocation.endpoint, reason)),
    };
  }

  /** Starts the first thread and gives what the plugin says it offers. */
  async start(): Promise<readonly WitEndpoint[]> {
    return this.#startWorker();
  }

  /** The endpoint's result as JSON. Rejects with the guest's error, or with what ended it. */
  run(given: PluginInvocation): Promise<string> {
    const { signal, requestId } = given;
    const deadlineMs = Math.min(given.deadlineMs, this.#limits.timeoutMs);
    if (signal.aborted) return Promise.reject(endReason(signal.reason));
    if (this.#isClosed) return Promise.reject(this.#unavailable('is closed'));
    const id = ++this.#lastId;
    const record = this.#options.telemetry.invocation(given.endpoint, given.traceparent);
    const invocation = record.traceparent === given.traceparent ? given : { ...given, traceparent: record.traceparent };
    const onAbort = (): void => this.#end(task, endReason(signal.reason));
    const deadline = setTimeout(() => this.#end(task, overDeadline(invocation.endpoint, deadlineMs)), deadlineMs);
    signal.addEventListener('abort', onAbort, { once: true });
    const task: Task = {
      id,
      invocation,
      record,
      log: this.#log.child({ request: requestId }),
      deadlineMs,
      deadlineAt: Date.now() + deadlineMs,
      settled: deferred<string>(),
      scope: this.#newScope(invocation, Date.now() + deadlineMs, (error) => this.#end(task, error)),
      worker: undefined,
      attempts: 0,
      userId: invocation.userId ?? null,
      priority: invocation.priority ?? 0,
      cost: 1, // how long an invocation takes is not known before
      cpuMs: 0,
      ending: undefined,
      isSettled: false,
      release: () => {
        clearTimeout(deadline);
        signal.removeEventListener('abort', onAbort);
      },
    };
    this.#tasks.set(id, task);
    const isFull = this.#queue.size >= this.#limits.maxQueued;
    const refused = isFull ? (this.#queue.victimFor(task.userId) ?? task) : undefined;
    if (refused) this.#settle(refused, { error: this.#unavailable('has too many requests waiting') });
    if (refused !== task) {
      this.#queue.add(task);
      this.#dispatch();
    }
    return task.settled.promise;
  }

  counters(): InvocationCounters {
    const queued = this.#queue.size;
    const cpuMs = [...this.#tasks.values()].reduce((total, task) => total + task.cpuMs, this.#cpuMs);
    return { running: this.#tasks.size - queued, queued, done: this.#done, failed: { ...this.#failed }, cpuMs };
  }

  /** Lets what it has run to its end, then closes. */
  async drain(): Promise<void> {
    this.#idle ??= deferred();
    if (this.#tasks.size > 0) await this.#idle.promise;
    await this.close();
  }

  /** Ends all threads; what still runs fails as unavailable. Resolves when everything is cleaned up. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const workers = [...this.#workers];
    this.#workers.clear();
    for (const task of this.#tasks.values()) this.#settle(task, { error: this.#unavailable('was closed') });
    this.#lines.flush();
    await Promise.all([...workers.map((worker) => worker.terminate()), ...this.#settling]);
  }

  #dispatch(): void {
    const { outputBytes } = this.#limits;
    while (this.#queue.size > 0 && this.#usedSlots < this.#maxRunning) {
      const worker = this.#chooseWorker();
      if (!worker) break;
      const task = this.#queue.take()!;
      task.worker = worker;
      task.attempts++;
      task.record.begin();
      const { endpoint, input, requestId, userId, priority, traceparent, write } = task.invocation;
      const ring = worker.run({ id: task.id, endpoint, input, requestId, userId, priority, traceparent, deadlineAt: task.deadlineAt, outputBytes: write && outputBytes, answerBytes: outputBytes });
      if (ring) task.scope.output.attach(ring);
    }
    if (this.#queue.size > this.#starting && this.#mayStart) this.#startSpare();
  }

  /**
   * A thread with a place, if possible one that is free now, because a guest gives its thread back only when it waits. Undefined when it is better to wait for a
   * further thread: in all others a guest has computed for a while, and may go on for long.
   */
  #chooseWorker(): PluginWorker | undefined {
    const free = [...this.#workers].filter((each) => each.freeSlots > 0);
    const soon = free.find((each) => !each.isComputing) ?? free.find((each) => !each.isBusy);
    return soon ?? (this.#starting > 0 || this.#mayStart ? undefined : free[0]);
  }

  get #mayStart(): boolean {
    return this.#mayGrow && this.#workers.size + this.#starting < this.#maxWorkers && this.#usedSlots < this.#maxRunning;
  }

  get #usedSlots(): number {
    return [...this.#workers].reduce((total, { usedSlots }) => total + usedSlots, 0);
  }

  /** Invocations at a time, over all threads. */
  get #maxRunning(): number {
    const { mode, helperThreads } = this.#options;
    return mode === 'suspending' && helperThreads === undefined ? this.#limits.maxSuspended : this.#maxWorkers;
  }

  get #limits(): PluginLimits {
    return this.#options.granted.limits;
  }

  get #memoryLimits(): MemoryLimits {
    const { memoryBytes, totalMemoryBytes, maxSuspended, maxThreads } = this.#limits;
    const plugin = Math.max(totalMemoryBytes, memoryBytes);
    return { instance: memoryBytes, plugin, share: plugin / (this.#options.mode === 'suspending' ? maxSuspended : maxThreads) };
  }

  get #maxWorkers(): number {
    const { helperThreads } = this.#options;
    return helperThreads ?? this.#limits.maxThreads;
  }

  /** A further thread; when it cannot start, those who wait for one are told. */
  #startSpare(): void {
    this.#startWorker().catch((error: unknown) => {
      if (this.#isClosed) return;
      this.#log.error('plugin thread did not start', { error });
      if (this.#workers.size > 0) {
        this.#mayGrow = false; // those that there are do it all
        this.#dispatch();
        return;
      }
      for (let task = this.#queue.peek(); task; task = this.#queue.peek()) this.#settle(task, { error: this.#unavailable('cannot start') });
    });
  }

  async #startWorker(): Promise<readonly WitEndpoint[]> {
    const { component, mode, helperThreads, pages } = this.#options;
    const limits = this.#limits;
    const slotCount = mode === 'suspending' && helperThreads === undefined ? limits.maxSuspended : 1;
    this.#starting++;
    const worker = new PluginWorker({ component, mode, slotCount, cpuSliceMs: limits.cpuSliceMs, memory: this.#memoryLimits, pages }, this.#events);
    try {
      const endpoints = await worker.ready();
      if (this.#isClosed) throw new Error('the plugin was closed');
      this.#workers.add(worker);
      return endpoints;
    } catch (error) {
      await worker.terminate();
      throw error;
    } finally {
      this.#starting--;
      this.#dispatch();
    }
  }

  /** A guest that floods the host, or has computed enough, is ended: telling it alone would let it go on. */
  #onCall(id: number, request: HostCall, cpuMs: number): Promise<HostReply> {
    const task = this.#tasks.get(id);
    if (!task) return new Promise(() => {});
    const answer = task.scope.answer(request);
    task.cpuMs = cpuMs + task.scope.hostMs;
    const exceeded = task.scope.callsExceeded ?? (task.cpuMs > this.#limits.cpuMs ? overCpuLimit(task.invocation.endpoint, this.#limits.cpuMs) : undefined);
    if (exceeded) this.#end(task, exceeded);
    return answer;
  }

  #onDone(id: number, outcome: Outcome, cpuMs: number): void {
    const task = this.#tasks.get(id);
    if (task) task.cpuMs = cpuMs + task.scope.hostMs;
    if (task) this.#finish(task, this.#resultOf(task, outcome));
    this.#dispatch();
  }

  /** A message of the guest cannot be taken or answered: its invocation fails, and no other. */
  #onFault(id: number | undefined, error: unknown): void {
    const task = id === undefined ? undefined : this.#tasks.get(id);
    const reason = error instanceof Error ? error.message : String(error);
    if (task) this.#end(task, trapError(this.#options.name, task.invocation.endpoint, `a message of it could not be handled: ${reason}`));
  }

  /** The guest has ended: settles as soon as the client has what it sent before. */
  #finish(task: Task, result: { json: string } | { error: unknown }): void {
    task.worker = undefined; // has its place for another one
    const sent = task.scope.output.detach();
    if (sent && !task.ending) void sent.then(() => this.#settle(task, result));
    else this.#settle(task, result);
  }

  #resultOf(task: Task, outcome: Outcome): { json: string } | { error: unknown } {
    if (task.ending) return { error: task.ending.reason };
    switch (outcome.state) {
      case 'returned':
        return { json: outcome.json };
      case 'failed':
        return { error: task.scope.errorOf(outcome.error) };
      case 'stopped':
        return { error: overCpuSlice(task.invocation.endpoint, this.#limits.cpuSliceMs) };
      case 'trapped':
        task.log.warn('plugin trapped', { endpoint: task.invocation.endpoint, reason: outcome.reason, content: outcome.said });
        return { error: trapError(this.#options.name, task.invocation.endpoint, outcome.reason, outcome.said) };
    }
  }

  /** Asks an invocation to end, and ends it when it does not. */
  #end(task: Task, reason: unknown): void {
    if (task.ending || task.isSettled) return;
    task.ending = { reason };
    const { worker } = task;
    if (!worker) {
      this.#settle(task, { error: reason });
      return;
    }
    worker.markCancelled(task.id);
    task.scope.abort(reason);
    const grace = setTimeout(() => this.#give(task, worker, reason), this.#limits.graceMs);
    const { release } = task;
    task.release = () => {
      release();
      clearTimeout(grace);
    };
  }

  /** Gives an invocation up: a suspended guest is never resumed, one that computes is stopped, a thread that it holds alone is ended. */
  #give(task: Task, worker: PluginWorker, reason: unknown): void {
    task.log.warn('plugin did not stop in time', { endpoint: task.invocation.endpoint });
    this.#settle(task, { error: reason });
    if (this.#options.mode === 'suspending') {
      worker.abandon(task.id);
      worker.interrupt(task.id);
    } else this.#lose(worker, undefined, 'did not stop', () => reason);
  }

  /** A thread is lost: the one at fault fails, those who had done nothing yet run again elsewhere, the rest can be tried again by their clients. */
  #lose(worker: PluginWorker, slot: number | undefined, reason: string, errorFor: (task: Task) => unknown): void {
    if (!this.#workers.delete(worker)) return; // not ready yet, or lost already
    const culprit = slot === undefined ? undefined : worker.idIn(slot);
    const tasks = worker.running.map((id) => this.#tasks.get(id)).filter((task) => task !== undefined);
    this.#log.warn('plugin thread ended', { reason, invocations: tasks.length });
    const ended = worker.terminate().catch(() => {});
    this.#settling.add(ended);
    void ended.then(() => this.#settling.delete(ended));
    for (const task of tasks) {
      task.scope.output.take(); // what it has sent tells that it was there
      if (task.ending) this.#settle(task, { error: task.ending.reason });
      else if (task.id === culprit) this.#finish(task, { error: errorFor(task) });
      else if (!task.scope.isTouched && task.attempts < 2) {
        task.worker = undefined;
        task.priority = Number.POSITIVE_INFINITY; // it was there first
        this.#queue.add(task);
      } else this.#finish(task, { error: this.#unavailable('had to be restarted because of another request; try again') });
    }
    if (this.#isClosed) return;
    if (this.#workers.size + this.#starting === 0) this.#startSpare();
    this.#dispatch();
  }

  /** Settles once, after everything the invocation had is released. */
  #settle(task: Task, result: { json: string } | { error: unknown }): void {
    if (task.isSettled) return;
    task.isSettled = true;
    this.#lines.end(task.id);
    task.release();
    this.#tasks.delete(task.id);
    this.#cpuMs += task.cpuMs;
    task.record.end({ ...('error' in result && { error: result.error }), cpuMs: task.cpuMs });
    if ('json' in result) this.#learn(task);
    if ('json' in result) this.#done++;
    else {
      const { kind } = toErrorRecord(result.error);
      this.#failed[kind] = (this.#failed[kind] ?? 0) + 1;
    }
    if (this.#tasks.size === 0) this.#idle?.resolve();
    this.#queue.remove(task);
    const settling = this.#dispose(task).then(() => ('json' in result ? task.settled.resolve(result.json) : task.settled.reject(result.error)));
    this.#settling.add(settling);
    void settling.then(() => this.#settling.delete(settling));
  }

  #learn({ invocation: { endpoint }, scope }: Task): void {
    const known = this.#calledBy.get(endpoint) ?? new Set();
    for (const name of scope.calledDeployments) known.add(name);
    this.#calledBy.set(endpoint, known);
  }

  async #dispose(task: Task): Promise<void> {
    try {
      await task.scope[Symbol.asyncDispose]();
    } catch (error) {
      task.log.error('invocation not cleaned up', { error });
    }
  }

  #newScope(invocation: PluginInvocation, deadlineAt: number, onOutputFailed: (error: unknown) => void): InvocationScope {
    const { name, ports, granted, telemetry, runHelper } = this.#options;
    const { files, write, requestUrls = new RequestUrls(invocation.input) } = invocation;
    const context = { ...requestContextOf(invocation), requestId: invocation.requestId, deadlineAt };
    return new InvocationScope({
      expectedDeployments: this.#calledBy.get(invocation.endpoint) ?? granted.deployments.filter((deployment) => deployment !== '*'),
      ...{ ports, plugin: name, granted, context, files, requestUrls, onOutputFailed, held: this.#held, telemetry },
      startHelper:
        runHelper && ((helper, input, signal, traceparent) => runHelper({ ...context, traceparent, endpoint: `helper:${helper}`, input, deadlineMs: Math.max(0, deadlineAt - Date.now()), signal, files, requestUrls })),
      write: write && ((chunk) => invocation.write!(chunk)),
    });
  }

  #onProgress(id: number, fraction: number, text: string): void {
    const task = this.#tasks.get(id);
    if (!task) return;
    this.#lines.add(id, text.length, () => task.log.info('progress', { endpoint: task.invocation.endpoint, fraction, text }));
    task.invocation.onProgress?.(fraction, text);
  }

  /** The time that a line takes is the guest's, also when it is written after the guest has ended. */
  #onLog(id: number | undefined, level: LogLevel, message: string, fields: string): void {
    const task = id === undefined ? undefined : this.#tasks.get(id);
    const { inSources } = this.#options;
    this.#lines.add(id, message.length + fields.length, () => {
      const startedAt = performance.now();
      try {
        (task?.log ?? this.#log)[level](inSources(message), guestFields(inSources(fields)));
      } catch (error) {
        this.#onFault(id, error);
      }
      task?.scope.charge(performance.now() - startedAt);
    });
  }

  #unavailable(what: string): AanaError {
    return unavailable(this.#options.name, what);
  }
}
