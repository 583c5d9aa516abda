import { type Deferred, deferred } from '../../../base/core/deferred.ts';
import { type AanaError, fail } from '../../../base/core/errors.ts';
import { FairQueue } from '../../../base/core/fair-queue.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { requestContextOf, traceFields } from '../../../base/core/request-context.ts';
import { HeldChars, heldCharsLimits } from '../capabilities/scope/held-chars.ts';
import { InvocationScope } from '../capabilities/scope/invocation-scope.ts';
import { RequestUrls } from '../capabilities/scope/request-urls.ts';
import type { PluginPorts } from '../ports.ts';
import type { Granted } from '../rights/grants.ts';
import type { PluginLimits } from '../rights/limits.ts';
import type { PluginSettings, SettingValues } from '../rights/plugin-settings.ts';
import type { RunLimits, SandboxOutcome } from '../sandbox/index.ts';
import type { AcceptedInvocation } from './accepted-invocation.ts';
import { boundedResult } from './border.ts';
import { CalledDeployments } from './called-deployments.ts';
import { GuestCalls } from './guest-calls.ts';
import { GuestLines } from './guest-lines.ts';
import type { PluginInvocation, Result } from './invocation.ts';
import { EndedInvocations, type InvocationCounters } from './invocation-counters.ts';
import {
  endReason,
  isOutOfMemory,
  outOfMemory,
  overCpuLimit,
  overCpuSlice,
  overDeadline,
  trapError,
  unavailable,
} from './invocation-errors.ts';
import type { PluginProcess } from './plugin-process.ts';
import type { PluginTelemetry } from './plugin-telemetry.ts';
import { lastWords, maxPrinted, runtimeNoise } from './printed.ts';
import type { GuestResult, WitError } from './protocol.ts';

/** Bytes of output and of lines that wait for the host before the guest does. */
const creditBytes = 64 * 1024;
/** Resources of WASI, beside those of the host, that a guest holds at a time. */
const wasiHandles = 10_000;

export interface PluginRuntimeOptions {
  readonly name: string;
  readonly process: PluginProcess;
  /** Maximum number of invocations that run at a time. */
  readonly concurrency: number;
  readonly granted: Granted;
  readonly settings: Pick<PluginSettings, 'read'>;
  readonly ports: PluginPorts;
  readonly telemetry: PluginTelemetry;
  /** Returns a text of the guest with positions in the plugin's sources instead of its bundle. */
  inSources(text: string): string;
  /** Runs a helper of the plugin. Undefined in the runtime that runs helpers. */
  readonly runHelper?: ((invocation: PluginInvocation) => Promise<string>) | undefined;
}

/** Returns the limits of one run that its process enforces. */
export function runLimits(limits: PluginLimits, isStreaming: boolean): RunLimits {
  return {
    cpuMs: limits.cpuMs,
    stretchMs: limits.cpuSliceMs,
    hostCalls: limits.hostCalls,
    handles: limits.handles + wasiHandles,
    creditBytes,
    outputBytes: isStreaming ? limits.outputBytes : 0,
  };
}

/** Runs invocations of one plugin, each within its limits, in the plugin's process. */
export class PluginRuntime {
  readonly #options: PluginRuntimeOptions;
  readonly #log: Logger;
  readonly #queue = new FairQueue<AcceptedInvocation>();
  /**
   * Invocations whose process was lost, and that run again. They do so one at a time, because one of them may have
   * ended the process.
   */
  readonly #lost: AcceptedInvocation[] = [];
  readonly #invocations = new Map<number, AcceptedInvocation>();
  readonly #settling = new Set<Promise<void>>();
  readonly #lines: GuestLines;
  readonly #held: HeldChars;
  readonly #ended = new EndedInvocations();
  readonly #called: CalledDeployments;
  /** Runs that have not ended, also those whose invocation is settled. */
  #running = 0;
  /** Of these, those that run again. */
  #runningAgain = 0;
  /** Whether the process had no room for a run, and none has ended since. */
  #isFull = false;
  #lastId = 0;
  #isClosed = false;
  /** Resolved when the last invocation has ended. Undefined until someone waits for that. */
  #idle: Deferred<void> | undefined;

  constructor(options: PluginRuntimeOptions) {
    const { name, ports, granted, inSources, process } = options;
    this.#options = options;
    this.#log = ports.log.child({ plugin: name });
    this.#held = new HeldChars(heldCharsLimits(granted.limits).plugin);
    this.#called = new CalledDeployments(granted.deployments);
    this.#lines = new GuestLines({
      log: this.#log,
      inSources,
      onFault: (invocation, error) => invocation && this.#onFault(invocation, error),
    });
    process.onChange((refusal) => (refusal === undefined ? this.#dispatch() : this.#refuse(refusal)));
  }

  /**
   * Runs an endpoint. Returns its result as JSON. Rejects with the guest's error, or with the reason why the host ended
   * it.
   */
  run(request: PluginInvocation): Promise<string> {
    const { signal, requestId } = request;
    const deadlineMs = Math.min(request.deadlineMs, this.#limits.timeoutMs);
    const deadlineAt = performance.now() + deadlineMs;
    const { refusal } = this.#options.process;
    if (signal.aborted) return Promise.reject(endReason(signal.reason));
    if (this.#isClosed) return Promise.reject(this.#unavailable('is closed'));
    if (refusal !== undefined) return Promise.reject(this.#unavailable(refusal));
    const settings = this.#options.settings.read();
    const lacking = settings.refusal();
    if (lacking) return Promise.reject(lacking);
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
      scope: this.#newScope(request, settings, record.traceparent, deadlineAt),
      run: undefined,
      wasLost: false,
      lostMs: 0,
      userId: request.userId ?? null,
      priority: request.priority ?? 0,
      cost: 1, // the duration of an invocation is unknown
      cpuMs: 0,
      lines: 0,
      printed: '',
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
    const queued = this.#queue.size + this.#lost.length;
    const ended = this.#ended.counters();
    const cpuMs = [...this.#invocations.values()].reduce((total, invocation) => total + invocation.cpuMs, ended.cpuMs);
    return { ...ended, running: this.#invocations.size - queued, queued, cpuMs };
  }

  /** Waits for all invocations, then closes. */
  async drain(): Promise<void> {
    this.#idle ??= deferred();
    if (this.#invocations.size > 0) await this.#idle.promise;
    await this.close();
  }

  /** Invocations that still run fail as unavailable. Resolves when everything is cleaned up. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const invocation of this.#invocations.values())
      this.#settle(invocation, { error: this.#unavailable('was closed') });
    this.#lines.flush();
    await Promise.all(this.#settling);
  }

  /** Begins waiting invocations for which there is a place. */
  #dispatch(): void {
    const { process, concurrency } = this.#options;
    if (this.#queue.size > 0) process.wake();
    while (!this.#isClosed && !this.#isFull && this.#running < concurrency && process.isReady) {
      const next = (this.#runningAgain === 0 ? this.#lost.shift() : undefined) ?? this.#queue.take();
      if (!next) return;
      this.#begin(next);
    }
  }

  #begin(invocation: AcceptedInvocation): void {
    const { endpoint, input, write } = invocation.request;
    this.#running++;
    if (invocation.wasLost) this.#runningAgain++;
    invocation.record.begin();
    const { outputBytes: answerBytes, handles } = this.#limits;
    const calls = new GuestCalls(invocation, { lines: this.#lines, answerBytes, handles });
    const run = this.#options.process.run({
      export: 'run',
      args: [endpoint, input],
      limits: runLimits(this.#limits, write !== undefined),
      answer: (name, args, cpuMs) => {
        this.#spend(invocation, cpuMs);
        return calls.answer(name, args);
      },
      onTold: (name, args) => calls.take(name, args),
      onOutput: ([chunk]) => calls.write(chunk as string).catch((error: unknown) => this.#end(invocation, error)),
      onPrinted: (text) => this.#onPrinted(invocation, text),
      onDropped: (_type, handle) => calls.drop(handle),
    });
    invocation.run = run;
    void run.outcome.then((outcome) => this.#onOutcome(invocation, outcome));
  }

  get #limits(): PluginLimits {
    return this.#options.granted.limits;
  }

  /** Ends a guest that has cost too much. The process does not know what the host computes for it. */
  #spend(invocation: AcceptedInvocation, cpuMs: number): void {
    invocation.cpuMs = invocation.lostMs + cpuMs + invocation.scope.hostMs;
    if (invocation.cpuMs > this.#limits.cpuMs)
      this.#end(invocation, overCpuLimit(invocation.request.endpoint, this.#limits.cpuMs));
  }

  /** Logs what a guest prints. Language runtimes print the stack of a panic. */
  #onPrinted(invocation: AcceptedInvocation, text: string): void {
    if (runtimeNoise.test(text) || invocation.printed.length >= maxPrinted) return;
    const shown = masked(invocation, text.slice(0, maxPrinted));
    invocation.printed += shown;
    this.#lines.add(invocation, 'warn', 'plugin printed', JSON.stringify({ text: shown.trim() }));
  }

  #onOutcome(invocation: AcceptedInvocation, outcome: SandboxOutcome): void {
    this.#running--;
    if (invocation.wasLost) this.#runningAgain--;
    invocation.run = undefined;
    const isRefused = outcome.state === 'failed' && outcome.code === 'busy';
    if (!isRefused) this.#isFull = false;
    if (!invocation.isSettled) {
      if (outcome.state === 'lost') this.#onLost(invocation);
      else if (isRefused) this.#onRefused(invocation);
      else {
        const result = this.#resultOf(invocation, outcome);
        invocation.cpuMs = invocation.lostMs + outcome.cpuMs + invocation.scope.hostMs;
        this.#finish(invocation, result);
      }
    }
    this.#dispatch();
  }

  /**
   * Handles the loss of the process. An invocation without any effect runs again, and clients can repeat the others.
   */
  #onLost(invocation: AcceptedInvocation): void {
    const { ending, scope, wasLost } = invocation;
    if (ending || scope.isTouched || wasLost || this.#isClosed) {
      const reason = this.#unavailable('had to be restarted while it worked on the request; try again');
      this.#finish(invocation, { error: ending?.reason ?? reason });
      return;
    }
    invocation.wasLost = true;
    invocation.lostMs = invocation.cpuMs;
    this.#lost.push(invocation);
  }

  /** The process has no room for the run, which has not begun. It waits for the end of another one. */
  #onRefused(invocation: AcceptedInvocation): void {
    const { ending } = invocation;
    if (ending || this.#running === 0) {
      const reason = this.#unavailable('has no room for the request; try again');
      this.#finish(invocation, { error: ending?.reason ?? reason });
      return;
    }
    this.#isFull = true;
    if (invocation.wasLost) this.#lost.unshift(invocation);
    else this.#queue.giveBack(invocation);
  }

  /** Called when a line of the guest cannot be written. Only its invocation fails. */
  #onFault(invocation: AcceptedInvocation, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    const { endpoint } = invocation.request;
    this.#end(
      invocation,
      trapError(this.#options.name, endpoint, `one of its messages could not be handled: ${reason}`),
    );
  }

  /** Settles an invocation whose guest has ended, after the client has received the output. */
  #finish(invocation: AcceptedInvocation, result: Result): void {
    const { output } = invocation.scope;
    const settle = (): void => this.#settle(invocation, output.failure ? { error: output.failure.reason } : result);
    if (output.sent && !invocation.ending) void output.sent.then(settle);
    else this.#settle(invocation, result);
  }

  #resultOf(invocation: AcceptedInvocation, outcome: Exclude<SandboxOutcome, { state: 'lost' }>): Result {
    const { name, inSources } = this.#options;
    const { endpoint } = invocation.request;
    if (invocation.ending) return { error: invocation.ending.reason };
    if (outcome.state === 'stopped') return { error: this.#unavailable('was stopped') };
    if (outcome.state === 'returned') {
      const startedAt = performance.now();
      const bounded = boundedResult(outcome.value as GuestResult, this.#limits.outputBytes);
      const result = 'err' in bounded ? { err: withoutSecrets(invocation, bounded.err) } : bounded;
      invocation.scope.charge(performance.now() - startedAt);
      if ('ok' in result) return { json: result.ok };
      if (isOutOfMemory(result.err)) return { error: outOfMemory(name, endpoint, this.#limits.memoryBytes) };
      return { error: invocation.scope.errorOf(result.err) };
    }
    switch (outcome.code) {
      case 'cpu':
        return { error: overCpuLimit(endpoint, this.#limits.cpuMs) };
      case 'stretch':
        return { error: overCpuSlice(endpoint, this.#limits.cpuSliceMs) };
      case 'calls': {
        const limit = this.#limits.hostCalls;
        const message = `the invocation called the host more than ${limit} times`;
        return { error: fail('TooManyHostCalls', message, { data: { limit } }) };
      }
      default: {
        // A secret may have been printed in pieces.
        const said = lastWords(masked(invocation, invocation.printed));
        const reason = masked(invocation, outcome.reason);
        invocation.log.warn('plugin trapped', { endpoint, reason, content: said });
        return { error: trapError(name, endpoint, reason, said === undefined ? undefined : inSources(said)) };
      }
    }
  }

  /** Asks an invocation to end, and ends it after a grace period. */
  #end(invocation: AcceptedInvocation, reason: unknown): void {
    if (invocation.ending || invocation.isSettled) return;
    invocation.ending = { reason };
    const { run } = invocation;
    if (!run) {
      this.#settle(invocation, { error: reason });
      return;
    }
    invocation.scope.abort(reason);
    run.warn();
    const grace = setTimeout(() => {
      invocation.log.warn('plugin did not stop in time', { endpoint: invocation.request.endpoint });
      this.#settle(invocation, { error: reason });
    }, this.#limits.graceMs);
    const { release } = invocation;
    invocation.release = () => {
      release();
      clearTimeout(grace);
    };
  }

  #refuse(refusal: string): void {
    const next = (): AcceptedInvocation | undefined => this.#lost[0] ?? this.#queue.peek();
    for (let invocation = next(); invocation; invocation = next())
      this.#settle(invocation, { error: this.#unavailable(refusal) });
  }

  /** Settles an invocation once, after its resources are released. */
  #settle(invocation: AcceptedInvocation, result: Result): void {
    if (invocation.isSettled) return;
    invocation.isSettled = true;
    invocation.run?.cancel(); // it has ended, unless the invocation is abandoned
    this.#lines.end(invocation.id);
    invocation.release();
    this.#invocations.delete(invocation.id);
    this.#ended.add(result, invocation.cpuMs);
    invocation.request.meter?.plugin(invocation.cpuMs);
    invocation.record.end({ ...('error' in result && { error: result.error }), cpuMs: invocation.cpuMs });
    if ('json' in result) this.#called.add(invocation.request.endpoint, invocation.scope.calledDeployments);
    if (this.#invocations.size === 0) this.#idle?.resolve();
    this.#queue.remove(invocation);
    const lost = this.#lost.indexOf(invocation);
    if (lost >= 0) this.#lost.splice(lost, 1);
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
    settings: SettingValues,
    place: string | undefined,
    deadlineAt: number,
  ): InvocationScope {
    const { name, ports, granted, telemetry, runHelper } = this.#options;
    const { files, write, answer, onProgress, requestUrls = new RequestUrls(request.input) } = request;
    const { requestId } = request;
    const context = Object.assign(requestContextOf(request), { requestId, traceparent: place, deadlineAt });
    return new InvocationScope({
      expectedDeployments: this.#called.expectedOf(request.endpoint),
      ...{ ports, plugin: name, granted, settings, context, files, requestUrls, held: this.#held, telemetry },
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
      onDenied: () => this.#ended.deny(),
      onProgress: onProgress && ((fraction, text) => request.onProgress!(fraction, text)),
      write: write && ((chunk) => request.write!(chunk)),
      answer,
    });
  }

  #unavailable(what: string): AanaError {
    return unavailable(this.#options.name, what);
  }
}

/** Returns a text of the guest without secrets of its settings. */
function masked({ scope }: AcceptedInvocation, text: string): string {
  return scope.settings.mask?.(text) ?? text;
}

/** An answer of a plugin may have its secrets, but an error often is what others have said. */
function withoutSecrets({ scope }: AcceptedInvocation, error: WitError): WitError {
  const { mask } = scope.settings;
  if (!mask) return error;
  const { kind, data } = error;
  return { kind, name: mask(error.name), message: mask(error.message), data: maskedJson(data, mask) };
}

function maskedJson(json: string, mask: NonNullable<SettingValues['mask']>): string {
  const masked = mask(json);
  if (masked === json) return json;
  try {
    return JSON.stringify(mask(JSON.parse(json)));
  } catch {
    return masked; // it was no JSON
  }
}
