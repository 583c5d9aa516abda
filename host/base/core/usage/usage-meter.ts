/** What a call of a deployment used, as far as its result tells it. */
export interface CallFigures {
  readonly promptTokens?: number | undefined;
  /** Of these, tokens that were computed for an earlier request. */
  readonly cachedTokens?: number | undefined;
  readonly completionTokens?: number | undefined;
  /** Seconds of audio that the call was given. */
  readonly audioSeconds?: number | undefined;
}

/** Measures one call of a deployment with its repetitions. */
export interface CallMeter {
  /** Called when a replica has ended its work on the call, with the seconds of the work. */
  computed(seconds: number): void;
  /** Called with the number of values of the stream that have arrived. */
  values(count: number): void;
  /** Called with the seconds of audio of a part of a feed. */
  heard(seconds: number): void;
  /** Called once, when the call has ended. Without figures it has failed, or its reader has left. */
  end(figures: CallFigures | undefined): void;
}

/** What a request may use of the tokens of its caller. */
export interface TokenAllowance {
  /** Most tokens of each text that a model generates; undefined is no limit. */
  readonly maxOutputTokens: number | undefined;
  /** Called before a model is called. Throws `TooManyRequestsException` if the caller has no tokens left. */
  admit(): void;
  /** Called with the number of tokens of a prompt or an answer. */
  spend(tokens: number): void;
}

/** Facts of a part of a request that has a record of its own, such as a request of a batch. */
export interface MeteredPart {
  /** The same for each attempt at the same part. */
  readonly id: string;
  readonly requestId: string;
  readonly route: string;
}

/**
 * Adds up what a request uses, for a record of its usage and for the limits of its caller. The port between the parts
 * that do the work and those that write records and limit users.
 */
export interface UsageMeter {
  /** Most tokens of each text that a model generates for the request; undefined is no limit. */
  readonly maxOutputTokens: number | undefined;
  /** Called when an endpoint runs, so that there is a record even if no deployment is called. */
  ran(): void;
  /**
   * Called when a call begins. `isGeneration` says whether it uses tokens, and whether the values of its stream are
   * pieces of a generated text. Throws `TooManyRequestsException` if it does and the caller has no tokens left.
   */
  call(deployment: string, isGeneration: boolean): CallMeter;
  /** Called when the code of a plugin has ended, with its computing time. */
  plugin(cpuMs: number): void;
  /** Begins a part. */
  part(part: MeteredPart): PartMeter;
}

/** The meter of a part, which is ended with it. */
export interface PartMeter extends UsageMeter {
  end(outcome: UsageOutcome): void;
}

/** How a request ended: `failed` by the host, `refused` because of the caller, `cancelled` by the caller. */
export type UsageOutcome = 'ok' | 'failed' | 'refused' | 'cancelled';
