import { type Deferred, deferred } from '../../core/deferred.ts';
import type { AanaError } from '../../core/errors.ts';
import { FairQueue } from '../../core/fair-queue.ts';
import type { Logger } from '../../core/log/logger.ts';
import { requestContextOf } from '../../core/request-context.ts';
import { CalledDeployments } from './called-deployments.ts';
import { HeldChars, heldCharsLimits } from '../capabilities/scope/held-chars.ts';
import { InvocationScope } from '../capabilities/scope/invocation-scope.ts';
import { RequestUrls } from '../capabilities/scope/request-urls.ts';
import type { Granted } from '../rights/grants.ts';
import { GuestLines } from './guest-lines.ts';
import type { PluginInvocation, Result } from './invocation.ts';
import { EndedInvocations, type InvocationCounters } from './invocation-counters.ts';
import { endReason, overCpuLimit, overCpuSlice, overDeadline, trapError, unavailable } from './invocation-errors.ts';
import type { PluginLimits } from '../rights/limits.ts';
import type { LoadedComponent } from '../component/loaded-component.ts';
import type { PluginTelemetry } from './plugin-telemetry.ts';
import { PluginThreads } from '../threads/plugin-threads.ts';
import type { PluginWorker, PluginWorkerEvents } from '../threads/plugin-worker.ts';
import type { PluginPorts } from '../ports.ts';
import type { HostCall, HostReply, Outcome, RuntimeMode, WitEndpoint } from './protocol.ts';
import type { Task } from './task.ts';

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

/** Runs one plugin's invocations: at most so many at a time, each within its limits, in threads of the plugin's own. */
export class PluginRuntime {
  readonly #options: PluginRuntimeOptions;
  readonly #log: Logger;
  readonly #threads: PluginThreads;
  readonly #queue = new FairQueue<Task>();
  readonly #tasks = new Map<number, Task>();
  readonly #settling = new Set<Promise<void>>();
  readonly #lines: GuestLines;
  readonly #held: HeldChars;
  readonly #ended = new EndedInvocations();
  readonly #called: CalledDeployments;
  #lastId = 0;
  #isClosed = false;
  /** Resolved when the last invocation has ended, once that is waited for. */
  #idle: Deferred<void> | undefined;

  constructor(options: PluginRuntimeOptions) {
    this.#options = options;
    this.#log = options.ports.log.child({ plugin: options.name });
    this.#held = new HeldChars(heldCharsLimits(options.granted.limits).plugin);
    this.#called = new CalledDeployments(options.granted.deployments);
    this.#lines = new GuestLines({
      log: this.#log,
      inSources: options.inSources,
      onFault: (id, error) => this.#onFault(id, error),
    });
    const { component, mode, granted, helperThreads, pages } = options;
    const events: PluginWorkerEvents = {
      onCall: (id, request, cpuMs) => this.#onCall(id, request, cpuMs),
      onOutput: (id) => this.#tasks.get(id)?.scope.output.take(),
      onDrop: (id, handle) => this.#tasks.get(id)?.scope.drop(handle),
      onProgress: (id, fraction, text) => this.#onProgress(id, fraction, text),
      onLog: (id, level, message, fields) =>
        this.#lines.add(id === undefined ? undefined : this.#tasks.get(id), level, message, fields),
      onFree: () => this.#dispatch(),
      onDone: (id, outcome, cpuMs) => this.#onDone(id, outcome, cpuMs),
      onFault: (id, error) => this.#onFault(id, error),
      onStuck: (worker, slot) =>
        this.#lose(worker, slot, 'computed too long', (task) =>
          overCpuSlice(task.invocation.endpoint, this.#limits.cpuSliceMs),
        ),
      onDeath: (worker, slot, reason) =>
        this.#lose(worker, slot, reason, (task) => trapError(options.name, task.invocation.endpoint, reason)),
    };
    this.#threads = new PluginThreads({
      ...{ component, mode, limits: granted.limits, helperThreads, pages, events },
      onRoom: () => this.#dispatch(),
      onTakenBack: (ids) => this.#waitAgain(ids.map((id) => this.#tasks.get(id)).filter((task) => task !== undefined)),
      onStartFailed: (error, isLast) => this.#onStartFailed(error, isLast),
    });
  }

  /** Starts the first thread and gives what the plugin says it offers. */
  async start(): Promise<readonly WitEndpoint[]> {
    return this.#threads.start();
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
      wasLost: false,
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
    const ended = this.#ended.counters();
    const cpuMs = [...this.#tasks.values()].reduce((total, task) => total + task.cpuMs, ended.cpuMs);
    return { ...ended, running: this.#tasks.size - queued, queued, cpuMs };
  }

  /** Threads that are ready for invocations. */
  get threads(): number {
    return this.#threads.size;
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
    const ended = this.#threads.close();
    for (const task of this.#tasks.values()) this.#settle(task, { error: this.#unavailable('was closed') });
    this.#lines.flush();
    await Promise.all([ended, ...this.#settling]);
  }

  /** Gives threads what they can begin. */
  #dispatch(): void {
    if (this.#isClosed) return;
    const { outputBytes } = this.#limits;
    while (this.#queue.size > 0) {
      const worker = this.#threads.choose();
      if (!worker) break;
      const task = this.#queue.take()!;
      task.worker = worker;
      task.record.begin();
      const { endpoint, input, requestId, userId, priority, traceparent, write } = task.invocation;
      const ring = worker.run({
        id: task.id,
        endpoint,
        input,
        requestId,
        userId,
        priority,
        traceparent,
        deadlineAt: task.deadlineAt,
        outputBytes: write && outputBytes,
        answerBytes: outputBytes,
      });
      if (ring) task.scope.output.attach(ring);
    }
    this.#threads.wanted(this.#queue.size);
  }

  /** Invocations that are to be run by another thread come before those that came later. */
  #waitAgain(tasks: readonly Task[]): void {
    for (const task of tasks.toSorted((a, b) => b.id - a.id)) {
      void task.scope.output.detach();
      task.worker = undefined;
      this.#queue.giveBack(task);
    }
  }

  get #limits(): PluginLimits {
    return this.#options.granted.limits;
  }

  #onStartFailed(error: unknown, isLast: boolean): void {
    this.#log.error('plugin thread did not start', { error });
    if (isLast)
      for (let task = this.#queue.peek(); task; task = this.#queue.peek())
        this.#settle(task, { error: this.#unavailable('cannot start') });
  }

  /** A guest that floods the host, or has computed enough, is ended: telling it alone would let it go on. */
  #onCall(id: number, request: HostCall, cpuMs: number): Promise<HostReply> {
    const task = this.#tasks.get(id);
    if (!task) return new Promise(() => {});
    const answer = task.scope.answer(request);
    task.cpuMs = cpuMs + task.scope.hostMs;
    if (this.#queue.size > 0) this.#dispatch(); // the guest has given its thread back
    const exceeded =
      task.scope.callsExceeded ??
      (task.cpuMs > this.#limits.cpuMs ? overCpuLimit(task.invocation.endpoint, this.#limits.cpuMs) : undefined);
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
    if (task)
      this.#end(
        task,
        trapError(this.#options.name, task.invocation.endpoint, `a message of it could not be handled: ${reason}`),
      );
  }

  /** The guest has ended: settles as soon as the client has what it sent before. */
  #finish(task: Task, result: Result): void {
    task.worker = undefined; // has its place for another one
    const sent = task.scope.output.detach();
    if (sent && !task.ending) void sent.then(() => this.#settle(task, result));
    else this.#settle(task, result);
  }

  #resultOf(task: Task, outcome: Outcome): Result {
    if (task.ending) return { error: task.ending.reason };
    switch (outcome.state) {
      case 'returned':
        return { json: outcome.json };
      case 'failed':
        return { error: task.scope.errorOf(outcome.error) };
      case 'stopped':
        return { error: overCpuSlice(task.invocation.endpoint, this.#limits.cpuSliceMs) };
      case 'trapped':
        task.log.warn('plugin trapped', {
          endpoint: task.invocation.endpoint,
          reason: outcome.reason,
          content: outcome.said,
        });
        return { error: trapError(this.#options.name, task.invocation.endpoint, outcome.reason, outcome.said) };
    }
  }

  /** Asks an invocation to end, and ends it when it does not. */
  #end(task: Task, reason: unknown): void {
    if (task.ending || task.isSettled) return;
    task.ending = { reason };
    const { worker } = task;
    if (!worker || worker.slots.takeBack(task.id)) {
      this.#settle(task, { error: reason });
      return;
    }
    worker.slots.markClientGone(task.id);
    task.scope.abort(reason);
    const grace = setTimeout(() => this.#give(task, worker, reason), this.#limits.graceMs);
    const { release } = task;
    task.release = () => {
      release();
      clearTimeout(grace);
    };
  }

  /**
   * Gives an invocation up: a suspended guest is never resumed, one that computes is stopped, a thread that it holds
   * alone is ended.
   */
  #give(task: Task, worker: PluginWorker, reason: unknown): void {
    task.log.warn('plugin did not stop in time', { endpoint: task.invocation.endpoint });
    this.#settle(task, { error: reason });
    if (this.#options.mode === 'suspending') {
      worker.abandon(task.id);
      worker.interrupt(task.id);
    } else this.#lose(worker, undefined, 'did not stop', () => reason);
  }

  /**
   * A thread is lost: the one at fault fails, those who had done nothing yet run again elsewhere, the rest can be tried
   * again by their clients.
   */
  #lose(worker: PluginWorker, slot: number | undefined, reason: string, errorFor: (task: Task) => unknown): void {
    const culprit = slot === undefined ? undefined : worker.slots.idIn(slot);
    const tasks = worker.slots.ids.map((id) => this.#tasks.get(id)).filter((task) => task !== undefined);
    const notBegun = tasks.filter(({ id }) => worker.slots.takeBack(id));
    if (!this.#threads.remove(worker)) return; // not ready yet, or lost already
    this.#log.warn('plugin thread ended', { reason, invocations: tasks.length });
    const again = [...notBegun];
    for (const task of tasks) {
      if (notBegun.includes(task)) continue;
      task.scope.output.take(); // what it has sent tells that it was there
      if (task.ending) this.#settle(task, { error: task.ending.reason });
      else if (task.id === culprit) this.#finish(task, { error: errorFor(task) });
      else if (!task.scope.isTouched && !task.wasLost) {
        task.wasLost = true;
        again.push(task);
      } else
        this.#finish(task, { error: this.#unavailable('had to be restarted because of another request; try again') });
    }
    this.#waitAgain(again);
    this.#dispatch();
  }

  /** Settles once, after everything the invocation had is released. */
  #settle(task: Task, result: Result): void {
    if (task.isSettled) return;
    task.isSettled = true;
    this.#lines.end(task.id);
    task.release();
    this.#tasks.delete(task.id);
    this.#ended.add(result, task.cpuMs);
    task.record.end({ ...('error' in result && { error: result.error }), cpuMs: task.cpuMs });
    if ('json' in result) this.#called.add(task.invocation.endpoint, task.scope.calledDeployments);
    if (this.#tasks.size === 0) this.#idle?.resolve();
    this.#queue.remove(task);
    const settling = this.#dispose(task).then(() =>
      'json' in result ? task.settled.resolve(result.json) : task.settled.reject(result.error),
    );
    this.#settling.add(settling);
    void settling.then(() => this.#settling.delete(settling));
  }

  async #dispose(task: Task): Promise<void> {
    try {
      await task.scope[Symbol.asyncDispose]();
    } catch (error) {
      task.log.error('invocation not cleaned up', { error });
    }
  }

  #newScope(
    invocation: PluginInvocation,
    deadlineAt: number,
    onOutputFailed: (error: unknown) => void,
  ): InvocationScope {
    const { name, ports, granted, telemetry, runHelper } = this.#options;
    const { files, write, requestUrls = new RequestUrls(invocation.input) } = invocation;
    const context = { ...requestContextOf(invocation), requestId: invocation.requestId, deadlineAt };
    return new InvocationScope({
      expectedDeployments: this.#called.expectedOf(invocation.endpoint),
      ...{ ports, plugin: name, granted, context, files, requestUrls, onOutputFailed, held: this.#held, telemetry },
      startHelper:
        runHelper &&
        ((helper, input, signal, traceparent) =>
          runHelper({
            ...context,
            traceparent,
            endpoint: `helper:${helper}`,
            input,
            deadlineMs: Math.max(0, deadlineAt - Date.now()),
            signal,
            files,
            requestUrls,
          })),
      write: write && ((chunk) => invocation.write!(chunk)),
    });
  }

  #onProgress(id: number, fraction: number, text: string): void {
    const task = this.#tasks.get(id);
    if (!task) return;
    this.#lines.addProgress(task, fraction, text);
    task.invocation.onProgress?.(fraction, text);
  }

  #unavailable(what: string): AanaError {
    return unavailable(this.#options.name, what);
  }
}
