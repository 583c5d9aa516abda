import { threadsNow } from '../../../base/core/clock.ts';
import { type Deferred, deferred } from '../../../base/core/deferred.ts';
import type { AanaError } from '../../../base/core/errors.ts';
import { FairQueue } from '../../../base/core/fair-queue.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { requestContextOf, traceFields } from '../../../base/core/request-context.ts';
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
import type { AcceptedInvocation } from './accepted-invocation.ts';

export interface PluginRuntimeOptions {
  readonly name: string;
  readonly component: LoadedComponent;
  readonly mode: RuntimeMode;
  readonly granted: Granted;
  /** Pages of the plugin's instances, which all of its threads share. */
  readonly pages: Int32Array;
  readonly ports: PluginPorts;
  readonly telemetry: PluginTelemetry;
  /** Returns a text of the guest with positions in the plugin's sources instead of its bundle. */
  inSources(text: string): string;
  /** Runs a helper of the plugin. Undefined in the runtime that runs helpers. */
  readonly runHelper?: ((invocation: PluginInvocation) => Promise<string>) | undefined;
  /** Number of threads with one invocation at a time each. Undefined: as the limits say for endpoints. */
  readonly helperThreads?: number | undefined;
}

/** Runs the invocations of one plugin, each within its limits, in threads of the plugin. */
export class PluginRuntime {
  readonly #options: PluginRuntimeOptions;
  readonly #log: Logger;
  readonly #threads: PluginThreads;
  readonly #queue = new FairQueue<AcceptedInvocation>();
  readonly #invocations = new Map<number, AcceptedInvocation>();
  readonly #settling = new Set<Promise<void>>();
  readonly #lines: GuestLines;
  readonly #held: HeldChars;
  readonly #ended = new EndedInvocations();
  readonly #called: CalledDeployments;
  #lastId = 0;
  #isClosed = false;
  /** Resolved when the last invocation has ended. Undefined until someone waits for that. */
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
      onOutput: (id) => this.#invocations.get(id)?.scope.output.take(),
      onDrop: (id, handle) => this.#invocations.get(id)?.scope.drop(handle),
      onProgress: (...report) => this.#onProgress(...report),
      onLog: (id, level, message, fields) =>
        this.#lines.add(id === undefined ? undefined : this.#invocations.get(id), level, message, fields),
      onFree: () => this.#dispatch(),
      onDone: (id, outcome, cpuMs) => this.#onDone(id, outcome, cpuMs),
      onFault: (id, error) => this.#onFault(id, error),
      onStuck: (worker, slot) =>
        this.#lose(worker, slot, 'computed too long', (invocation) =>
          overCpuSlice(invocation.request.endpoint, this.#limits.cpuSliceMs),
        ),
      onDeath: (worker, slot, reason) =>
        this.#lose(worker, slot, reason, (invocation) => trapError(options.name, invocation.request.endpoint, reason)),
    };
    this.#threads = new PluginThreads({
      ...{ component, mode, limits: granted.limits, helperThreads, pages, events },
      onRoom: () => this.#dispatch(),
      onTakenBack: (ids) =>
        this.#waitAgain(ids.map((id) => this.#invocations.get(id)).filter((invocation) => invocation !== undefined)),
      onStartFailed: (error, isLast) => this.#onStartFailed(error, isLast),
    });
  }

  /** Starts the first thread. Returns the endpoints that the plugin describes. */
  async start(): Promise<readonly WitEndpoint[]> {
    return this.#threads.start();
  }

  /**
   * Runs an endpoint. Returns its result as JSON. Rejects with the guest's error, or with the reason why the host ended
   * it.
   */
  run(request: PluginInvocation): Promise<string> {
    const { signal, requestId } = request;
    const deadlineMs = Math.min(request.deadlineMs, this.#limits.timeoutMs);
    const deadlineAt = performance.now() + deadlineMs;
    if (signal.aborted) return Promise.reject(endReason(signal.reason));
    if (this.#isClosed) return Promise.reject(this.#unavailable('is closed'));
    const id = ++this.#lastId;
    const record = this.#options.telemetry.invocation(request.endpoint, request.traceparent);
    const onAbort = (): void => this.#end(invocation, endReason(signal.reason));
    const deadline = setTimeout(() => this.#end(invocation, overDeadline(request.endpoint, deadlineMs)), deadlineMs);
    signal.addEventListener('abort', onAbort, { once: true });
    const ofPlugin = this.#log;
    let log: Logger | undefined;
    const invocation: AcceptedInvocation = {
      id,
      request,
      record,
      // Few invocations have lines, and a logger costs more than the rest of this object.
      get log() {
        return (log ??= ofPlugin.child({ request: requestId, ...traceFields(record.traceparent) }));
      },
      deadlineMs,
      deadlineAt,
      settled: deferred<string>(),
      scope: this.#newScope(request, record.traceparent, deadlineAt, (error) => this.#end(invocation, error)),
      worker: undefined,
      wasLost: false,
      userId: request.userId ?? null,
      priority: request.priority ?? 0,
      cost: 1, // the duration of an invocation is unknown
      cpuMs: 0,
      ending: undefined,
      isSettled: false,
      release: () => {
        clearTimeout(deadline);
        signal.removeEventListener('abort', onAbort);
      },
    };
    this.#invocations.set(id, invocation);
    const isFull = this.#queue.size >= this.#limits.maxQueued;
    const refused = isFull ? (this.#queue.victimFor(invocation.userId) ?? invocation) : undefined;
    if (refused) this.#settle(refused, { error: this.#unavailable('has too many requests waiting') });
    if (refused !== invocation) {
      this.#queue.add(invocation);
      this.#dispatch();
    }
    return invocation.settled.promise;
  }

  counters(): InvocationCounters {
    const queued = this.#queue.size;
    const ended = this.#ended.counters();
    const cpuMs = [...this.#invocations.values()].reduce((total, invocation) => total + invocation.cpuMs, ended.cpuMs);
    return { ...ended, running: this.#invocations.size - queued, queued, cpuMs };
  }

  /** The number of threads that are ready for invocations. */
  get threads(): number {
    return this.#threads.size;
  }

  /** Waits for all invocations, then closes. */
  async drain(): Promise<void> {
    this.#idle ??= deferred();
    if (this.#invocations.size > 0) await this.#idle.promise;
    await this.close();
  }

  /** Ends all threads. Invocations that still run fail as unavailable. Resolves when everything is cleaned up. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const ended = this.#threads.close();
    for (const invocation of this.#invocations.values())
      this.#settle(invocation, { error: this.#unavailable('was closed') });
    this.#lines.flush();
    await Promise.all([ended, ...this.#settling]);
  }

  /** Gives waiting invocations to threads that can begin them. */
  #dispatch(): void {
    if (this.#isClosed) return;
    const { outputBytes } = this.#limits;
    while (this.#queue.size > 0) {
      const worker = this.#threads.choose();
      if (!worker) break;
      const invocation = this.#queue.take()!;
      invocation.worker = worker;
      invocation.record.begin();
      const { endpoint, input, requestId, userId, priority, write } = invocation.request;
      const ring = worker.run({
        id: invocation.id,
        endpoint,
        input,
        requestId,
        userId,
        priority,
        traceparent: invocation.record.traceparent,
        deadlineAt: threadsNow() + invocation.deadlineAt - performance.now(),
        outputBytes: write && outputBytes,
        answerBytes: outputBytes,
      });
      if (ring) invocation.scope.output.attach(ring);
    }
    this.#threads.wanted(this.#queue.size);
  }

  /** Puts invocations back into the queue, before later ones, because another thread must run them. */
  #waitAgain(invocations: readonly AcceptedInvocation[]): void {
    for (const invocation of invocations.toSorted((a, b) => b.id - a.id)) {
      void invocation.scope.output.detach();
      invocation.worker = undefined;
      this.#queue.giveBack(invocation);
    }
  }

  get #limits(): PluginLimits {
    return this.#options.granted.limits;
  }

  #onStartFailed(error: unknown, isLast: boolean): void {
    this.#log.error('plugin thread did not start', { error });
    if (isLast)
      for (let invocation = this.#queue.peek(); invocation; invocation = this.#queue.peek())
        this.#settle(invocation, { error: this.#unavailable('cannot start') });
  }

  /** Answers a call. It ends a guest that calls or computes too much, because such a guest could ignore an error. */
  #onCall(id: number, request: HostCall, cpuMs: number): Promise<HostReply> {
    const invocation = this.#invocations.get(id);
    if (!invocation) return new Promise(() => {});
    const answer = invocation.scope.answer(request);
    invocation.cpuMs = cpuMs + invocation.scope.hostMs;
    if (this.#queue.size > 0) this.#dispatch(); // the waiting guest has left its thread
    const exceeded =
      invocation.scope.callsExceeded ??
      (invocation.cpuMs > this.#limits.cpuMs
        ? overCpuLimit(invocation.request.endpoint, this.#limits.cpuMs)
        : undefined);
    if (exceeded) this.#end(invocation, exceeded);
    return answer;
  }

  #onDone(id: number, outcome: Outcome, cpuMs: number): void {
    const invocation = this.#invocations.get(id);
    if (invocation) invocation.cpuMs = cpuMs + invocation.scope.hostMs;
    if (invocation) this.#finish(invocation, this.#resultOf(invocation, outcome));
    this.#dispatch();
  }

  /** Called when a message of the guest cannot be handled. Only the invocation of the message fails. */
  #onFault(id: number | undefined, error: unknown): void {
    const invocation = id === undefined ? undefined : this.#invocations.get(id);
    const reason = error instanceof Error ? error.message : String(error);
    if (invocation)
      this.#end(
        invocation,
        trapError(
          this.#options.name,
          invocation.request.endpoint,
          `one of its messages could not be handled: ${reason}`,
        ),
      );
  }

  /** Settles an invocation whose guest has ended, after the client has received the earlier output. */
  #finish(invocation: AcceptedInvocation, result: Result): void {
    invocation.worker = undefined; // the thread has a free place
    const sent = invocation.scope.output.detach();
    if (sent && !invocation.ending) void sent.then(() => this.#settle(invocation, result));
    else this.#settle(invocation, result);
  }

  #resultOf(invocation: AcceptedInvocation, outcome: Outcome): Result {
    if (invocation.ending) return { error: invocation.ending.reason };
    switch (outcome.state) {
      case 'returned':
        return { json: outcome.json };
      case 'failed':
        return { error: invocation.scope.errorOf(outcome.error) };
      case 'stopped':
        return { error: overCpuSlice(invocation.request.endpoint, this.#limits.cpuSliceMs) };
      case 'trapped':
        invocation.log.warn('plugin trapped', {
          endpoint: invocation.request.endpoint,
          reason: outcome.reason,
          content: outcome.said,
        });
        return { error: trapError(this.#options.name, invocation.request.endpoint, outcome.reason, outcome.said) };
    }
  }

  /** Asks an invocation to end, and ends it after a grace period. */
  #end(invocation: AcceptedInvocation, reason: unknown): void {
    if (invocation.ending || invocation.isSettled) return;
    invocation.ending = { reason };
    const { worker } = invocation;
    if (!worker || worker.slots.takeBack(invocation.id)) {
      this.#settle(invocation, { error: reason });
      return;
    }
    worker.slots.markClientGone(invocation.id);
    invocation.scope.abort(reason);
    const grace = setTimeout(() => this.#give(invocation, worker, reason), this.#limits.graceMs);
    const { release } = invocation;
    invocation.release = () => {
      release();
      clearTimeout(grace);
    };
  }

  /**
   * Abandons an invocation. A suspended guest is never resumed, a guest that computes is stopped, and a thread with a
   * single guest is ended.
   */
  #give(invocation: AcceptedInvocation, worker: PluginWorker, reason: unknown): void {
    invocation.log.warn('plugin did not stop in time', { endpoint: invocation.request.endpoint });
    this.#settle(invocation, { error: reason });
    if (this.#options.mode === 'suspending') {
      worker.abandon(invocation.id);
      worker.interrupt(invocation.id);
    } else this.#lose(worker, undefined, 'did not stop', () => reason);
  }

  /**
   * Handles the loss of a thread. The invocation at fault fails, invocations without any effect run again in another
   * thread, and clients can repeat the others.
   */
  #lose(
    worker: PluginWorker,
    slot: number | undefined,
    reason: string,
    errorFor: (invocation: AcceptedInvocation) => unknown,
  ): void {
    const culprit = slot === undefined ? undefined : worker.slots.idIn(slot);
    const invocations = worker.slots.ids
      .map((id) => this.#invocations.get(id))
      .filter((invocation) => invocation !== undefined);
    const notBegun = invocations.filter(({ id }) => worker.slots.takeBack(id));
    if (!this.#threads.remove(worker)) return; // the thread is not ready yet or already lost
    this.#log.warn('plugin thread ended', { reason, invocations: invocations.length });
    const again = [...notBegun];
    for (const invocation of invocations) {
      if (notBegun.includes(invocation)) continue;
      invocation.scope.output.take(); // output in the ring counts as an effect
      if (invocation.ending) this.#settle(invocation, { error: invocation.ending.reason });
      else if (invocation.id === culprit) this.#finish(invocation, { error: errorFor(invocation) });
      else if (!invocation.scope.isTouched && !invocation.wasLost) {
        invocation.wasLost = true;
        again.push(invocation);
      } else
        this.#finish(invocation, {
          error: this.#unavailable('had to be restarted because of another request; try again'),
        });
    }
    this.#waitAgain(again);
    this.#dispatch();
  }

  /** Settles an invocation once, after its resources are released. */
  #settle(invocation: AcceptedInvocation, result: Result): void {
    if (invocation.isSettled) return;
    invocation.isSettled = true;
    this.#lines.end(invocation.id);
    invocation.release();
    this.#invocations.delete(invocation.id);
    this.#ended.add(result, invocation.cpuMs);
    invocation.request.meter?.plugin(invocation.cpuMs);
    invocation.record.end({ ...('error' in result && { error: result.error }), cpuMs: invocation.cpuMs });
    if ('json' in result) this.#called.add(invocation.request.endpoint, invocation.scope.calledDeployments);
    if (this.#invocations.size === 0) this.#idle?.resolve();
    this.#queue.remove(invocation);
    const settling = this.#dispose(invocation).then(() =>
      'json' in result ? invocation.settled.resolve(result.json) : invocation.settled.reject(result.error),
    );
    this.#settling.add(settling);
    void settling.then(() => this.#settling.delete(settling));
  }

  async #dispose(invocation: AcceptedInvocation): Promise<void> {
    try {
      await invocation.scope[Symbol.asyncDispose]();
    } catch (error) {
      invocation.log.error('invocation not cleaned up', { error });
    }
  }

  #newScope(
    request: PluginInvocation,
    place: string | undefined,
    deadlineAt: number,
    onOutputFailed: (error: unknown) => void,
  ): InvocationScope {
    const { name, ports, granted, telemetry, runHelper } = this.#options;
    const { files, write, onProgress, requestUrls = new RequestUrls(request.input) } = request;
    const context = { ...requestContextOf(request), requestId: request.requestId, traceparent: place, deadlineAt };
    return new InvocationScope({
      expectedDeployments: this.#called.expectedOf(request.endpoint),
      ...{ ports, plugin: name, granted, context, files, requestUrls, onOutputFailed, held: this.#held, telemetry },
      startHelper:
        runHelper &&
        ((helper, input, signal, traceparent) =>
          runHelper({
            ...context,
            traceparent,
            endpoint: `helper:${helper}`,
            input,
            deadlineMs: Math.max(0, deadlineAt - performance.now()),
            signal,
            files,
            requestUrls,
          })),
      onProgress: onProgress && ((fraction, text) => request.onProgress!(fraction, text)),
      write: write && ((chunk) => request.write!(chunk)),
    });
  }

  #onProgress(id: number, fraction: number, text: string, until: number | undefined): void {
    const invocation = this.#invocations.get(id);
    if (!invocation) return;
    this.#lines.addProgress(invocation, fraction, text);
    invocation.scope.progress?.report(fraction, text, until);
  }

  #unavailable(what: string): AanaError {
    return unavailable(this.#options.name, what);
  }
}
