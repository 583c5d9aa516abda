import { deferred } from '../../../base/core/deferred.ts';
import { fail } from '../../../base/core/errors.ts';
import type { HeldChars } from '../capabilities/scope/held-chars.ts';
import { toWitError } from '../capabilities/scope/wit-error.ts';
import type { HostOperation, HostReply, WitError } from './protocol.ts';

interface StartedCall {
  readonly operation: HostOperation;
  readonly abort: AbortController;
  readonly reply: Promise<HostReply>;
  isOver: boolean;
  /** What counts as held for the answer that the guest has not taken. */
  held: number;
}

/** What the next call of a guest does. */
type NextCall = { readonly kind: 'start' } | { readonly kind: 'take'; readonly call: number };

/** Calls that a guest has started, so that they run at the same time, and has not taken. */
export class StartedCalls {
  readonly #limit: number;
  readonly #held: HeldChars;
  readonly #calls = new Map<number, StartedCall>();
  #last = 0;
  #next: NextCall | undefined;

  /**
   * @param limit the maximum number of calls.
   * @param held counts the answers that wait for the guest.
   */
  constructor(limit: number, held: HeldChars) {
    this.#limit = limit;
    this.#held = held;
  }

  startNext(): void {
    this.#next = { kind: 'start' };
  }

  takeNext(call: number): void {
    this.#next = { kind: 'take', call };
  }

  cancel(call: number): void {
    this.#remove(call)?.abort.abort();
  }

  /** Answers a call: at once, or as the guest has asked for the next one. */
  call(operation: HostOperation, answer: (signal?: AbortSignal) => Promise<HostReply>): Promise<HostReply> {
    const next = this.#next;
    if (!next) return answer();
    this.#next = undefined;
    return next.kind === 'start' ? this.#start(operation, answer) : this.#take(operation, next.call);
  }

  /**
   * Resolves with the numbers of these calls that are over, once there is one, or after `ms`. Rejects when `signal` is
   * aborted.
   */
  async wait(numbers: Iterable<number>, ms: number | undefined, signal: AbortSignal): Promise<number[]> {
    const calls = [...numbers].map((number) => ({ number, call: this.#get(number) }));
    if (calls.length === 0 && ms === undefined)
      throw fail('InvalidArguments', 'concurrency.wait has neither calls nor a time to wait for');
    signal.throwIfAborted();
    if (!calls.some(({ call }) => call.isOver)) {
      const waiting = deferred<void>();
      const timer = ms === undefined ? undefined : setTimeout(waiting.resolve, ms);
      const onAbort = (): void => waiting.reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        await Promise.race([waiting.promise, ...calls.map(({ call }) => call.reply)]);
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
      }
    }
    return calls.filter(({ call }) => call.isOver).map(({ number }) => number);
  }

  /** Gives back what the answers count as held. */
  [Symbol.dispose](): void {
    for (const call of [...this.#calls.keys()]) this.cancel(call);
  }

  async #start(operation: HostOperation, answer: (signal: AbortSignal) => Promise<HostReply>): Promise<HostReply> {
    if (this.#calls.size >= this.#limit)
      return failed(
        fail('TooManyHandles', `an invocation can have ${this.#limit} started calls at a time`, {
          data: { limit: this.#limit },
        }),
      );
    const number = ++this.#last;
    const abort = new AbortController();
    const reply = answer(abort.signal).then((given) => this.#keep(number, given));
    this.#calls.set(number, { operation, abort, reply, isOver: false, held: 0 });
    const error: WitError = { kind: 'unavailable', name: 'CallStarted', message: '', data: String(number) };
    return { error };
  }

  #take(operation: HostOperation, number: number): Promise<HostReply> {
    try {
      const call = this.#get(number);
      if (call.operation !== operation)
        throw fail('InvalidHandle', `the call ${number} is one of ${call.operation}, not of ${operation}`);
      return call.reply.finally(() => this.#remove(number));
    } catch (error) {
      return Promise.resolve(failed(error));
    }
  }

  /** Notes that a call is over. An answer that is over the limit of what the host holds becomes an error. */
  #keep(number: number, given: HostReply): HostReply {
    const call = this.#calls.get(number);
    if (!call) return given; // it was cancelled
    call.isOver = true;
    if ('error' in given) return given;
    const weight = weightOf(given.value);
    try {
      this.#held.take(weight);
    } catch (error) {
      return failed(error);
    }
    call.held = weight;
    return given;
  }

  #get(number: number): StartedCall {
    const call = this.#calls.get(number);
    if (!call) throw fail('InvalidHandle', `there is no started call ${number}`);
    return call;
  }

  #remove(number: number): StartedCall | undefined {
    const call = this.#calls.get(number);
    if (!call) return undefined;
    this.#calls.delete(number);
    this.#held.give(call.held);
    return call;
  }
}

const failed = (error: unknown): HostReply => ({ error: toWitError(error) });

/** What a value takes, in characters: those of its texts, its bytes, and a few for each number, element and member. */
function weightOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (typeof value !== 'object' || value === null) return 8;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return members.reduce<number>((sum, member) => sum + weightOf(member), 8);
}
