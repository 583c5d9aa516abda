import { flatMapped } from '../../../base/core/async/async-values.ts';
import type { Clock } from '../../../base/core/clock.ts';
import { type AanaError, cancelledError, errorLogFields, faultOf } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { type RequestContext, requestContextOf, traceFields } from '../../../base/core/request-context.ts';
import type { CallContent, CallRecord, CallTelemetry } from './call-telemetry.ts';
import { fingerprint } from './fingerprint.ts';
import type { CallMeter } from '../../../base/core/usage/usage-meter.ts';
import type { LoadProgress } from '../set/fleet.ts';
import { CALL_NOT_BEGUN, type RpcCallOptions } from '../../rpc/call-client.ts';
import type { Feed } from '../../rpc/feed.ts';
import { isLoss, isPlanned } from '../process/replica-lost.ts';
import type { DispatchOptions, ReplicaPool } from '../pool/replica-pool.ts';
import type { CalledReplica } from '../process/running-replica.ts';
import type { SuspectCalls, Trial } from './suspect-calls.ts';
import type { Reservation, Run } from '../pool/workload.ts';

/** Progress of loading the model for which a call waits, or of the work on the call. */
export interface CallProgress extends LoadProgress {
  /** `running`: `fraction` is the part of the call that is done, 0 to 1. It starts again when the call is repeated. */
  readonly stage: 'loading' | 'running';
}

export interface SetCallOptions
  extends RequestContext, Omit<DispatchOptions, 'suspect' | 'onQueued' | 'isReturned' | 'method'> {
  /** Reserved place of this call, from {@link ReplicaCalls.reserve}. */
  readonly reservation?: Reservation | undefined;
  /** Values that the caller sends into the running call. */
  readonly feed?: Feed | undefined;
  /** Beginning of messages about the arguments, if they were only checked against JSON Schemas. */
  readonly unchecked?: string | undefined;
  /** Measures the call. Default: it is not measured. */
  readonly metered?: CallMeter | undefined;
  /** Makes what collects the contents of one try for its span. Default: spans have no contents. */
  readonly contentOf?: (() => CallContent) | undefined;
  /** Called with load progress while the call waits for the model, and then with the progress of the call. */
  readonly onProgress?: ((progress: CallProgress) => void) | undefined;
}

export interface ReplicaCallsOptions<Replica extends CalledReplica> {
  readonly pool: ReplicaPool<Replica>;
  readonly clock: Clock;
  readonly suspects: SuspectCalls;
  readonly log: Logger;
  readonly telemetry: CallTelemetry;
  readonly weightOf?: ((userId: string) => number | undefined) | undefined;
  /** Records the outcome of a call on a replica. */
  record(replica: Replica, error?: unknown): void;
  /** Returns the progress of a model that is being loaded, if any is. */
  loading(): LoadProgress | undefined;
  /** Called when a call may have begun to wait. */
  onWaiting(): void;
}

interface Call {
  readonly method: string;
  readonly args: Record<string, unknown>;
  readonly options: SetCallOptions;
  readonly record: CallRecord;
  readonly content: CallContent | undefined;
}

/** A call that waits for a replica. */
interface Queued {
  readonly call: Call;
  leave(reason: unknown): void;
}

type Use<T> = (replica: CalledReplica, options: RpcCallOptions) => T;

/** A call that a replica has got. */
interface Opened<T, Replica> {
  readonly value: T;
  readonly replica: Replica;
  readonly run: Run;
  readonly trial: Trial | undefined;
}

type Used<T, Replica> = Omit<Opened<T, Replica>, 'trial'>;
type At<Replica> = Omit<Opened<unknown, Replica>, 'value'>;

/** Gives calls to the replicas of a set. */
export class ReplicaCalls<Replica extends CalledReplica> {
  readonly #options: ReplicaCallsOptions<Replica>;
  readonly #listeners = new Set<(progress: LoadProgress) => void>();
  readonly #queued = new Set<Queued>();
  #lastUsedAt: number;

  constructor(options: ReplicaCallsOptions<Replica>) {
    this.#options = options;
    this.#lastUsedAt = options.clock.now();
  }

  /** Time at which a call last arrived or ended, in milliseconds of the clock. */
  get lastUsedAt(): number {
    return this.#lastUsedAt;
  }

  async call(method: string, args: Record<string, unknown>, options: SetCallOptions): Promise<unknown> {
    const call = this.#recorded(method, args, options);
    try {
      const result = await this.#call(call);
      call.content?.add([result]);
      call.record.end();
      return result;
    } catch (error) {
      call.record.end(error);
      throw error;
    }
  }

  async *stream(
    method: string,
    args: Record<string, unknown>,
    options: SetCallOptions,
  ): AsyncGenerator<unknown[], unknown, undefined> {
    const call = this.#recorded(method, args, options);
    let failure: unknown = cancelledError('the reader left the stream');
    try {
      const result = yield* this.#noted(call);
      failure = undefined;
      return result;
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      call.record.end(failure);
    }
  }

  #recorded(method: string, args: Record<string, unknown>, given: SetCallOptions): Call {
    const options = this.#weighed(given);
    const content = options.contentOf?.();
    const record = this.#options.telemetry.open(method, requestContextOf(options), options.metered, content);
    return { method, args, options: { ...options, ...record.context }, record, content };
  }

  /** Streams a call, and collects its contents. */
  #noted(call: Call): AsyncGenerator<unknown[], unknown, undefined> {
    const { content } = call;
    if (!content) return this.#stream(call); // a stream pays for each generator that it goes through
    return flatMapped(this.#stream(call), (batch) => {
      content.add(batch);
      return [batch];
    });
  }

  /** Returns the context of a call with the weight of its user. */
  #weighed<Context extends RequestContext>(context: Context): Context {
    const { userId } = context;
    return { ...context, weight: typeof userId === 'string' ? this.#options.weightOf?.(userId) : undefined };
  }

  async #call(call: Call): Promise<unknown> {
    const { method, args } = call;
    for (let isReturned = false; ; isReturned = true) {
      const opened = await this.#open(call, isReturned, (chosen, options) => chosen.call(method, args, options));
      try {
        const result = await opened.value;
        this.#succeeded(opened);
        return result;
      } catch (error) {
        if (error !== CALL_NOT_BEGUN) throw await this.#failure(error, call, opened);
      } finally {
        opened.trial?.end();
      }
    }
  }

  #succeeded({ run, replica, trial }: At<Replica>): void {
    this.#options.pool.observe(run, true);
    this.#options.record(replica);
    trial?.acquit();
  }

  /**
   * Reserves a place for a call that follows other work of its request. Throws the error with which the call would be
   * refused.
   */
  reserve(context: RequestContext): Reservation {
    return this.#options.pool.reserve(this.#weighed(context));
  }

  async *#stream(call: Call): AsyncGenerator<unknown[], unknown, undefined> {
    const { method, args } = call;
    for (let isReturned = false; ; isReturned = true) {
      const opened = await this.#open(call, isReturned, (chosen, options) => chosen.stream(method, args, options));
      let hasEnded = false;
      try {
        const result = yield* opened.value;
        hasEnded = true;
        this.#succeeded(opened);
        return result;
      } catch (error) {
        hasEnded = true;
        if (error !== CALL_NOT_BEGUN) throw await this.#failure(error, call, opened);
      } finally {
        if (!hasEnded) this.#options.pool.observe(opened.run, false); // its reader has left
        opened.trial?.end();
      }
    }
  }

  /** Passes load progress on to waiting callers. */
  onProgress(progress: LoadProgress): void {
    for (const listener of this.#listeners) listener(progress);
  }

  /**
   * Gives a call to a replica. `isReturned` is whether another replica did not begin it. Throws `PoisonousCallError`
   * when two replicas were lost with the same call.
   */
  async #open<T>(call: Call, isReturned: boolean, use: Use<T>): Promise<Opened<T, Replica>> {
    const { suspects, pool } = this.#options;
    const { method, options } = call;
    options.reservation?.release();
    let admitted = isReturned || options.admitted === true || options.reservation !== undefined;
    const hold = async (other: Promise<void>): Promise<void> => {
      await pool.hold(other, { ...options, method, admitted });
      admitted = true;
    };
    for (; ; admitted = true) {
      const mayBeSuspect = !suspects.isEmpty && options.feed === undefined;
      const trial = mayBeSuspect ? await suspects.begin(await printOf(call), method, hold) : undefined;
      try {
        return { ...(await this.#dispatch(use, call, trial, { admitted, isReturned })), trial };
      } catch (error) {
        trial?.end();
        if (error !== SUSPECT) throw error;
      }
    }
  }

  /** Returns the error that the call ends with. */
  async #failure(error: unknown, call: Call, at: At<Replica>): Promise<unknown> {
    const { pool, record } = this.#options;
    const { replica, run, trial } = at;
    if (call.options.signal?.aborted || faultOf(error) === 'cancelled') pool.observe(run, false);
    // An abort says nothing about the replica, which may still be working.
    if (call.options.signal?.aborted) return error;
    record(replica, error);
    if (isLoss(error)) return isPlanned(error) ? error : ((await this.#onLoss(call, at)) ?? error);
    trial?.acquit();
    return error;
  }

  /**
   * Records that the replica was lost with the call. Returns the error with which the call is refused from now on, or
   * undefined if it is not.
   */
  async #onLoss(lost: Call, { replica, run, trial }: At<Replica>): Promise<AanaError | undefined> {
    const { suspects, log, clock, pool } = this.#options;
    const { method, options } = lost;
    const { requestId, traceparent, feed } = options;
    if (feed) return undefined; // calls with equal arguments got other values, so that none of them is the same call
    const blamed = pool.trials.suspectOn(replica);
    const isAnotherBlamed = blamed !== undefined && blamed !== trial;
    // This call survived its trial; the replica was trying another suspect.
    if (trial && isAnotherBlamed) return undefined;
    const ranMs = clock.now() - run.startedAt;
    const print = await printOf(lost);
    // It began before an equal call became a suspect. Its own trial decides, because the replica was trying another
    // one.
    if (isAnotherBlamed && suspects.isSuspect(print)) return undefined;
    const refusal = suspects.onLoss(print, method, replica, ranMs);
    for (const { call, leave } of this.#queued) {
      if (call.method === method && (await printOf(call)) === print) leave(SUSPECT);
    }
    if (refusal)
      log.error('call is refused from now on', { requestId, ...traceFields(traceparent), ...errorLogFields(refusal) });
    return refusal;
  }

  async #dispatch<T>(
    use: Use<T>,
    call: Call,
    trial: Trial | undefined,
    how: Pick<DispatchOptions, 'admitted' | 'isReturned'>,
  ): Promise<Used<T, Replica>> {
    const { pool, clock, onWaiting } = this.#options;
    const { onProgress, signal } = call.options;
    this.#lastUsedAt = clock.now();
    const useOf = (replica: Replica, run: Run, isBeyond: boolean): Used<T, Replica> => {
      call.record.begin(replica.name);
      const onSettled = (loss: unknown): void => {
        this.#lastUsedAt = clock.now();
        if (trial && isLoss(loss)) pool.trials.endByLoss(replica, trial);
        else if (trial) pool.trials.end(replica, trial);
        // The caller has gone, so the call does not record the loss, but the same call may come again.
        if (signal?.aborted && isLoss(loss) && !isPlanned(loss)) void this.#onLoss(call, { replica, run, trial });
        pool.settle(run);
      };
      const onWork = onProgress && ((fraction: number) => onProgress({ stage: 'running', fraction, text: '' }));
      const { feed, multiplexedModelId, unchecked } = call.options;
      const beyond = isBeyond || undefined;
      const onValues = (count: number): void => call.record.values(count);
      const callOptions = Object.assign(requestContextOf(call.options), {
        ...{ multiplexedModelId, unchecked, beyond, signal, feed, onSettled, onValues, onProgress: onWork },
      });
      return { value: use(replica, callOptions), replica, run };
    };
    let queued: Queued | undefined;
    const onQueued = (leave: Queued['leave']): void => {
      queued = { call, leave };
      this.#queued.add(queued);
    };
    const used = pool.dispatch(useOf, { ...call.options, method: call.method, suspect: trial, onQueued, ...how });
    onWaiting();
    const onLoading = onProgress && ((step: LoadProgress) => onProgress({ stage: 'loading', ...step }));
    const loading = onLoading && pool.size === 0 ? this.#options.loading() : undefined;
    if (loading) onLoading?.(loading);
    if (onLoading) this.#listeners.add(onLoading);
    try {
      return (await used).value;
    } finally {
      if (onLoading) this.#listeners.delete(onLoading);
      if (queued) this.#queued.delete(queued);
    }
  }
}

/** Returns what tells calls apart that a replica may be lost with. */
const printOf = ({ method, args, options: { multiplexedModelId: model } }: Call): Promise<string> =>
  fingerprint(model === undefined ? method : `${method} of ${model}`, args);

/** Ends the wait of a queued call when a replica was lost with the same call. */
const SUSPECT = new Error('a replica was lost with the same call');
