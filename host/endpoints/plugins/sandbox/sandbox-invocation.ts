import { deferred } from '../../../base/core/deferred.ts';
import { type CborValue, MalformedError } from './cbor.ts';
import { frameKind } from './frames.ts';
import type { Codec } from './value-codecs.ts';

/** What the sandbox says about the end of a run that it ended itself. */
export const failureCodes = [
  /** The guest trapped, or its component could not be instantiated. */
  'trap',
  /** It has computed for too long: in all, or without a call of the host. */
  'cpu',
  'stretch',
  /** It has called the host too often, or holds too many resources. */
  'calls',
  'handles',
  /** The host's answer was not of the function's type. */
  'answer',
  /** The host refused a call. */
  'refused',
  /** The arguments of the run were not of the function's type, or its result cannot be passed. */
  'input',
  'result',
  /** The process takes no further run now. */
  'busy',
] as const;
export type FailureCode = (typeof failureCodes)[number];

/** How a run has ended. `cpuMs` is the computing time of the guest. */
export type SandboxOutcome =
  | { readonly state: 'returned'; readonly value: unknown; readonly cpuMs: number }
  | { readonly state: 'failed'; readonly code: FailureCode; readonly reason: string; readonly cpuMs: number }
  /** It was cancelled. `cpuMs` is 0 when its process ended without saying it. */
  | { readonly state: 'stopped'; readonly cpuMs: number }
  /** Its process has ended. */
  | { readonly state: 'lost'; readonly reason: string };

/** Limits of one run. */
export interface RunLimits {
  /** Milliseconds of computing. */
  readonly cpuMs: number;
  /** Milliseconds of computing without a call of the host. */
  readonly stretchMs: number;
  /** Calls that the host answers. */
  readonly hostCalls: number;
  /** Resources that the guest holds at a time. */
  readonly handles: number;
  /** Bytes of output, and of calls without an answer, that wait for the host before the guest does. */
  readonly creditBytes: number;
  /**
   * Bytes of output. `answer` gets the calls of the output function beyond it, and can refuse them to the guest. 0: all
   * of them.
   */
  readonly outputBytes: number;
}

export interface SandboxRun {
  /** The name of the exported function, such as `run`. */
  readonly export: string;
  /** In the host's form, see `value-codecs.ts`. */
  readonly args: readonly unknown[];
  readonly limits: RunLimits;
  /**
   * Answers a call of `interface@version#function`. The result has the host's form of the function's type; an error of
   * the world is `{ err: … }`. When it throws, the guest traps with the message. `cpuMs` is the computing time of the
   * guest so far, up to an hour.
   */
  readonly answer: (name: string, args: readonly unknown[], cpuMs: number) => unknown;
  /** Called with a call that needs no answer, such as a line of the log. */
  readonly onTold?: ((name: string, args: readonly unknown[]) => void) | undefined;
  /**
   * Called with the arguments of a call of the output function. The guest waits while the limit of bytes has not been
   * taken, and they are taken when the promise is settled.
   */
  readonly onOutput?: ((args: readonly unknown[]) => Promise<unknown>) | undefined;
  /** Called with what the guest prints. */
  readonly onPrinted?: ((text: string) => void) | undefined;
  /** Called when the guest has dropped a resource, by the name of its type. */
  readonly onDropped?: ((type: string, resource: number) => void) | undefined;
}

/** A function of the host that the guest calls. */
export interface AskedFunction {
  readonly name: string;
  readonly result: Codec;
}

/** What an invocation needs of its process. */
export interface InvocationPort {
  send(invocation: number, kind: number, numbers: readonly number[], ...values: readonly CborValue[]): void;
  /** Ends the process, because it does not do what it was told. */
  giveUp(reason: string): void;
}

/** Milliseconds in which a process must end a run that was cancelled. It looks at its socket after each slice. */
const cancelMs = 5_000;
const maxReason = 4_096;
/** The sandbox sends this many bytes of a run, and what is no character becomes one. */
const maxPrintedChars = 16_384;

/** One run of a guest. */
export class SandboxInvocation {
  readonly id: number;
  readonly #port: InvocationPort;
  readonly #run: SandboxRun;
  readonly #outcome = deferred<SandboxOutcome>();
  #grace: NodeJS.Timeout | undefined;
  #isStopped = false;
  #isOver = false;
  /** The number of the last call of the host, and whether it has no answer yet. */
  #lastCall = 0;
  #isAnswering = false;
  /** Bytes that the guest has sent on credit, and those of them that the host has handled. */
  #owed = 0;
  #handled = 0;
  #drops = 0;
  #printedChars = 0;

  constructor(id: number, run: SandboxRun, port: InvocationPort) {
    this.id = id;
    this.#run = run;
    this.#port = port;
  }

  /** How the run has ended. It never rejects. */
  get outcome(): Promise<SandboxOutcome> {
    return this.#outcome.promise;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether the process was told to cancel it. What the guest did before is of no use then. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Cancels the run, unless it has ended. */
  cancel(): void {
    if (this.#isOver || this.#isStopped) return;
    this.#isStopped = true;
    this.#port.send(this.id, frameKind.cancel, []);
    this.#grace = setTimeout(() => setImmediate(() => this.#giveUp()), cancelMs);
  }

  /**
   * Tells the guest that it is cancelled, so that it can end in its own way. `answer` gets its further calls of the
   * output function.
   */
  warn(): void {
    if (!this.#isOver && !this.#isStopped) this.#port.send(this.id, frameKind.ending, []);
  }

  /** Throws `MalformedError` when the process should not have let the guest call. */
  call(call: number, { name, result }: AskedFunction, args: readonly unknown[], cpuMs: number): void {
    if (this.#isAnswering || call !== this.#lastCall + 1) throw new MalformedError('a call is out of turn');
    if (call > this.#run.limits.hostCalls) throw new MalformedError('a run calls the host too often');
    this.#lastCall = call;
    this.#isAnswering = true;
    try {
      const answer = this.#run.answer(name, args, cpuMs);
      if (answer instanceof Promise)
        answer.then(
          (value) => this.#reply(call, result, value),
          (error: unknown) => this.#refuse(call, error),
        );
      else this.#reply(call, result, answer);
    } catch (error) {
      this.#refuse(call, error);
    }
  }

  /** Throws `MalformedError` when the guest had no credits. */
  tell(name: string, args: readonly unknown[], bytes: number): void {
    this.#owe(bytes);
    this.#run.onTold?.(name, args);
    // The credits come in a later turn, so that others have theirs.
    setImmediate(() => this.#pay(bytes));
  }

  /** Throws `MalformedError` when the guest had no credits. */
  output(args: readonly unknown[], bytes: number): void {
    if (this.#run.limits.outputBytes === 0) throw new MalformedError('a run has output and does not stream');
    this.#owe(bytes);
    const taken = this.#run.onOutput?.(args) ?? Promise.resolve();
    const pay = (): void => this.#pay(bytes);
    taken.then(pay, pay);
  }

  /** Throws `MalformedError` when the guest cannot have had so many resources, each from an answer. */
  drop(type: string, resource: number): void {
    if (++this.#drops > this.#run.limits.hostCalls) throw new MalformedError('a run drops what it was not given');
    this.#run.onDropped?.(type, resource);
  }

  /** Throws `MalformedError` for more than the sandbox lets through. */
  print(text: string): void {
    this.#printedChars += text.length;
    if (this.#printedChars > maxPrintedChars) throw new MalformedError('a run prints more than it may');
    this.#run.onPrinted?.(text);
  }

  returned(value: unknown, cpuMs: number): void {
    this.#end({ state: 'returned', value, cpuMs });
  }

  failed(code: FailureCode | 'cancelled', reason: string, cpuMs: number): void {
    if (code === 'cancelled') this.#end({ state: 'stopped', cpuMs });
    else this.#end({ state: 'failed', code, reason, cpuMs });
  }

  lost(reason: string): void {
    this.#end(this.#isStopped ? { state: 'stopped', cpuMs: 0 } : { state: 'lost', reason });
  }

  #owe(bytes: number): void {
    if (this.#owed > this.#run.limits.creditBytes) throw new MalformedError('a run sends more than it may');
    this.#owed += bytes;
  }

  /** Returns to the sandbox what the host has handled, in halves of the limit. */
  #pay(bytes: number): void {
    this.#handled += bytes;
    if (this.#isOver || this.#isStopped || this.#handled * 2 < this.#run.limits.creditBytes) return;
    this.#owed -= this.#handled;
    this.#port.send(this.id, frameKind.credit, [this.#handled]);
    this.#handled = 0;
  }

  #reply(call: number, result: Codec, value: unknown): void {
    if (this.#isOver || this.#isStopped) return;
    try {
      this.#port.send(this.id, frameKind.answer, [call], result.encode(value));
      this.#isAnswering = false;
    } catch (error) {
      this.#refuse(call, error);
    }
  }

  #refuse(call: number, error: unknown): void {
    if (this.#isOver || this.#isStopped) return;
    this.#port.send(this.id, frameKind.refuse, [call], reasonOf(error));
  }

  /** Called in a later turn, in which what has come meanwhile was read. This thread may have been busy for long. */
  #giveUp(): void {
    if (!this.#isOver) this.#port.giveUp(`did not cancel a run within ${cancelMs} ms`);
  }

  #end(outcome: SandboxOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#grace);
    this.#outcome.resolve(outcome);
  }
}

/** The beginning of an error's message. It never throws, whatever a function of the host has thrown. */
function reasonOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error).slice(0, maxReason);
  } catch {
    return 'the host has failed';
  }
}
