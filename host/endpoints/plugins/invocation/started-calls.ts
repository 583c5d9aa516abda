import { deferred } from '../../../base/core/deferred.ts';
import { fail } from '../../../base/core/errors.ts';
import type { HeldChars } from '../capabilities/scope/held-chars.ts';
import { toWitError } from '../capabilities/scope/wit-error.ts';
import type { HostOperation, HostReply, WitError } from './protocol.ts';

/** How a started call is answered. */
export interface StartedAnswer {
  /** Aborted when the guest gives the call up. */
  readonly signal: AbortSignal;
  /** Called once the work of the call has ended, which may be after its reply. */
  readonly onDone: () => void;
}

interface StartedCall {
  readonly operation: HostOperation;
  readonly abort: AbortController;
  readonly reply: Promise<HostReply>;
  /** Whether its reply is there. */
  isOver: boolean;
  /** What counts as held for the reply. */
  held: number;
  /** Whether its work has ended. */
  readonly isDone: () => boolean;
}

/** What the next call of a guest does. */
type NextCall = { readonly kind: 'start' } | { readonly kind: 'take'; readonly call: number };

/** The longest time of a timer. A longer one would fire at once. */
const longestMs = 2 ** 31 - 1;

/** Calls that a guest has started, so that they run at the same time, and has not taken. */
export class StartedCalls {
  readonly #limit: number;
  readonly #held: HeldChars;
  readonly #calls = new Map<number, StartedCall>();
  #last = 0;
  #next: NextCall | undefined;
  /** Calls whose work has not ended, also those that were given up, and calls that were not taken. */
  #places = 0;
  /** Called with the number of a call that is over. A guest waits once at a time. */
  #onOver: ((number: number) => void) | undefined;

  /**
   * @param limit the maximum number of calls.
   * @param held counts their arguments and the replies that wait for the guest.
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

  /** Gives up a call, and what was asked of the next one. */
  cancel(call: number): void {
    this.#next = undefined;
    this.#remove(call)?.abort.abort();
  }

  /** Answers a call: at once, or as the guest has asked for the next one. */
  call(
    operation: HostOperation,
    args: readonly unknown[],
    answer: (started?: StartedAnswer) => Promise<HostReply>,
  ): Promise<HostReply> {
    const next = this.#next;
    if (!next) return answer();
    this.#next = undefined;
    try {
      return next.kind === 'start' ? this.#start(operation, args, answer) : this.#take(operation, next.call);
    } catch (error) {
      return Promise.resolve({ error: toWitError(error) });
    }
  }

  /**
   * Resolves with the numbers of these calls that are over, once there is one, or after `ms`. Rejects when `signal` is
   * aborted.
   */
  async wait(numbers: ArrayLike<number>, ms: number | undefined, signal: AbortSignal): Promise<number[]> {
    if (numbers.length > this.#limit)
      throw fail('InvalidArguments', `concurrency.wait takes at most ${this.#limit} calls, not ${numbers.length}`);
    if (numbers.length === 0 && ms === undefined)
      throw fail('InvalidArguments', 'concurrency.wait has neither calls nor a time to wait for');
    const wanted = new Set(Array.from(numbers));
    for (const number of wanted) this.#get(number);
    signal.throwIfAborted();
    const over = (): number[] => [...wanted].filter((number) => this.#calls.get(number)?.isOver);
    if (over().length === 0 && ms !== 0) await this.#untilOver(wanted, ms, signal);
    return over();
  }

  /** Gives up what is left. */
  [Symbol.dispose](): void {
    for (const call of [...this.#calls.keys()]) this.cancel(call);
  }

  async #untilOver(wanted: ReadonlySet<number>, ms: number | undefined, signal: AbortSignal): Promise<void> {
    const waiting = deferred<void>();
    const timer = ms === undefined ? undefined : setTimeout(waiting.resolve, Math.min(ms, longestMs));
    const onAbort = (): void => waiting.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#onOver = (number) => wanted.has(number) && waiting.resolve();
    try {
      await waiting.promise;
    } finally {
      this.#onOver = undefined;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  #start(
    operation: HostOperation,
    args: readonly unknown[],
    answer: (started: StartedAnswer) => Promise<HostReply>,
  ): Promise<HostReply> {
    if (this.#places >= this.#limit)
      throw fail('TooManyHandles', `an invocation can have ${this.#limit} started calls at a time`, {
        data: { limit: this.#limit },
      });
    const weight = weightOf(args);
    this.#held.take(weight);
    this.#places++;
    const number = ++this.#last;
    const abort = new AbortController();
    let isDone = false;
    const onDone = (): void => {
      if (isDone) return;
      isDone = true;
      this.#held.give(weight);
      if (!this.#calls.has(number)) this.#places--;
    };
    const reply = answer({ signal: abort.signal, onDone }).then((given) => this.#keep(number, given));
    this.#calls.set(number, { operation, abort, reply, isOver: false, held: 0, isDone: () => isDone });
    const error: WitError = { kind: 'unavailable', name: 'CallStarted', message: '', data: String(number) };
    return Promise.resolve({ error });
  }

  #take(operation: HostOperation, number: number): Promise<HostReply> {
    const call = this.#get(number);
    if (call.operation !== operation)
      throw fail('InvalidHandle', `the call ${number} is one of ${call.operation}, not of ${operation}`);
    return call.reply.finally(() => this.#remove(number));
  }

  /** Notes that a call is over. A reply that is over the limit of what the host holds becomes an error. */
  #keep(number: number, given: HostReply): HostReply {
    const call = this.#calls.get(number);
    if (!call) return given; // it was given up
    let kept = given;
    try {
      const weight = weightOf(given);
      this.#held.take(weight);
      call.held = weight;
    } catch (error) {
      kept = { error: toWitError(error) };
    }
    call.isOver = true;
    this.#onOver?.(number);
    return kept;
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
    if (call.isDone()) this.#places--;
    return call;
  }
}

/** What a value takes, in characters: those of its texts, its bytes, and a few for each number, element and member. */
function weightOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (typeof value !== 'object' || value === null) return 8;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return members.reduce<number>((sum, member) => sum + weightOf(member), 8);
}
