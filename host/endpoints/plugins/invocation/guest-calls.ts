import type { LogLevel } from '../../../base/core/log/logger.ts';
import { worldFunction } from '../capabilities/catalogue.ts';
import type { AcceptedInvocation } from './accepted-invocation.ts';
import { requireArguments } from './border.ts';
import { toWitError } from '../capabilities/scope/wit-error.ts';
import type { GuestLines } from './guest-lines.ts';
import type { HostCall, HostOperation, HostReply } from './protocol.ts';
import { StartedCalls } from './started-calls.ts';

const maxReports = 1_000;
const maxReportChars = 1_024;

export interface GuestCallsOptions {
  readonly lines: GuestLines;
  /** Maximum bytes of one streamed value. */
  readonly answerBytes: number;
  /** Maximum number of calls that the guest has started and not taken. */
  readonly handles: number;
}

/**
 * The functions of the world for one guest, except those that its process answers. Names are
 * `interface@version#function`, as the sandbox sends them.
 */
export class GuestCalls {
  readonly #invocation: AcceptedInvocation;
  readonly #options: GuestCallsOptions;
  /** What the host knows about the resources that the guest holds, by handle. */
  readonly #facts = new Map<number, Readonly<Record<string, unknown>>>();
  readonly #started: StartedCalls;
  #progress: { readonly percent: number; readonly text: string; readonly until: number | undefined } | undefined;
  #reports = 0;

  constructor(invocation: AcceptedInvocation, options: GuestCallsOptions) {
    this.#invocation = invocation;
    this.#options = options;
    this.#started = new StartedCalls(options.handles, invocation.scope.held);
    invocation.scope.onDispose(() => this.#started[Symbol.dispose]());
  }

  /** Returns what the function returns: for one that can fail, `{ ok }` or `{ err }`. */
  answer(name: string, args: readonly unknown[]): unknown {
    const { request, record, deadlineAt } = this.#invocation;
    const local = localName(name);
    const known = worldFunction(local);
    if (known?.call === 'concurrency.wait') return this.#wait(...(args as [ArrayLike<number>, number | undefined]));
    if (known?.call) return this.#call(known.call, args);
    if (known?.fact) return this.#facts.get(args[0] as number)?.[known.fact];
    switch (local) {
      case 'invocation#request-id':
        return request.requestId;
      case 'invocation#remaining-ms':
        return Math.max(0, Math.round(deadlineAt - performance.now()));
      case 'invocation#user':
        return request.userId ?? undefined;
      case 'invocation#priority':
        return request.priority ?? 0;
      case 'invocation#traceparent':
        return record.traceparent;
      default:
        throw new Error(`the host has no function ${name}`);
    }
  }

  /** Takes a call that has no answer. */
  take(name: string, args: readonly unknown[]): void {
    switch (localName(name)) {
      case 'log#log':
        return this.#options.lines.add(this.#invocation, ...(args as [LogLevel, string, string]));
      case 'progress#report':
        return this.#report(args[0] as number, undefined, args[1] as string);
      case 'progress#report-step':
        return this.#report(...(args as [number, number, string]));
      case 'concurrency#start-next':
        return this.#started.startNext();
      case 'concurrency#take-next':
        return this.#started.takeNext(args[0] as number);
      case 'concurrency#cancel':
        return this.#started.cancel(args[0] as number);
    }
  }

  /** Sends a streamed value. Resolves when the client has room for more. */
  async write(chunk: string): Promise<void> {
    const { scope } = this.#invocation;
    const startedAt = performance.now();
    requireArguments('output.write', [chunk], this.#options.answerBytes);
    scope.charge(performance.now() - startedAt);
    await scope.output.post(chunk);
  }

  drop(handle: number): void {
    this.#facts.delete(handle);
    this.#invocation.scope.drop(handle);
  }

  async #call(operation: HostOperation, args: readonly unknown[]): Promise<unknown> {
    const { scope } = this.#invocation;
    const call = { operation, args } as HostCall;
    const reply = await this.#started.call(operation, args, (started) => scope.answer(call, started));
    if (!('error' in reply) && hasFacts(reply.value)) this.#facts.set(reply.value.handle, reply.value);
    return result(reply);
  }

  async #wait(calls: ArrayLike<number>, ms: number | undefined): Promise<unknown> {
    try {
      return { ok: await this.#started.wait(calls, ms, this.#invocation.scope.signal) };
    } catch (error) {
      return result({ error: toWitError(error) });
    }
  }

  /** Reports the fraction at which the guest is, and the one at which its next step ends if it says so. */
  #report(given: number, end: number | undefined, whole: string): void {
    const { scope } = this.#invocation;
    const fraction = shareOf(given);
    const until = end === undefined ? undefined : Math.max(fraction, shareOf(end));
    const { mask } = scope.settings;
    const cut = whole.slice(0, maxReportChars);
    const text = mask?.(cut) ?? cut;
    const percent = Math.floor(fraction * 100);
    const last = this.#progress;
    if (last && percent === last.percent && text === last.text && until === last.until) return;
    if (++this.#reports > maxReports) return;
    this.#progress = { percent, text, until };
    this.#options.lines.addProgress(this.#invocation, fraction, text);
    scope.progress?.report(fraction, text, until);
  }
}

/** Returns `interface#function` for `aana:host/interface@version#function`. */
function localName(name: string): string {
  const version = name.indexOf('@');
  return name.slice(name.indexOf('/') + 1, version) + name.slice(name.indexOf('#', version));
}

const result = (reply: HostReply): object => ('error' in reply ? { err: reply.error } : { ok: reply.value });
const hasFacts = (value: unknown): value is Readonly<Record<string, unknown>> & { readonly handle: number } =>
  typeof value === 'object' && value !== null && 'handle' in value && typeof value.handle === 'number';
const shareOf = (fraction: number): number => (Number.isFinite(fraction) ? Math.min(1, Math.max(0, fraction)) : 0);
