import type { Clock } from '../core/clock.ts';
import { requestContextOf, type RequestContext } from '../core/request-context.ts';
import type { Fleet, LoadProgress } from './fleet.ts';
import type { ReplicaCallOptions } from './replica-connection.ts';
import type { DispatchOptions, ReplicaPool } from './replica-pool.ts';
import type { RunningReplica } from './running-replica.ts';

export interface SetCallOptions extends RequestContext, DispatchOptions {
  /** Hears how far the model is, as long as the call waits for one that loads. */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
}

export interface ReplicaCallsOptions {
  readonly pool: ReplicaPool<RunningReplica>;
  readonly fleet: Fleet;
  readonly clock: Clock;
  /** A call may wait now. */
  onWaiting(): void;
}

interface Used<T> {
  readonly value: T;
  readonly replica: RunningReplica;
}

/** Gives calls to the replicas of a set. */
export class ReplicaCalls {
  readonly #options: ReplicaCallsOptions;
  readonly #listeners = new Set<(progress: LoadProgress) => void>();
  #lastUsedAt: number;

  constructor(options: ReplicaCallsOptions) {
    this.#options = options;
    this.#lastUsedAt = options.clock.now();
  }

  /** When a call last came or ended, in milliseconds of the clock. */
  get lastUsedAt(): number {
    return this.#lastUsedAt;
  }

  async call(method: string, args: Record<string, unknown>, options: SetCallOptions): Promise<unknown> {
    const { value, replica } = await this.#dispatch((chosen, callOptions) => chosen.call(method, args, callOptions), options);
    const errors = this.#options.fleet.errorsOf(replica);
    try {
      const result = await value;
      errors.record();
      return result;
    } catch (error) {
      errors.record(error);
      throw error;
    }
  }

  async *stream(method: string, args: Record<string, unknown>, options: SetCallOptions): AsyncGenerator<unknown[], void, undefined> {
    const { value, replica } = await this.#dispatch((chosen, callOptions) => chosen.stream(method, args, callOptions), options);
    let failure: unknown;
    try {
      yield* value;
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      this.#options.fleet.errorsOf(replica).record(failure);
    }
  }

  /** Tells those who wait. */
  onProgress(progress: LoadProgress): void {
    for (const listener of this.#listeners) listener(progress);
  }

  async #dispatch<T>(use: (replica: RunningReplica, options: ReplicaCallOptions) => T, options: SetCallOptions): Promise<Used<T>> {
    const { pool, clock, onWaiting } = this.#options;
    const { onProgress, signal } = options;
    this.#lastUsedAt = clock.now();
    const onSettled = (): void => {
      this.#lastUsedAt = clock.now();
      pool.release();
    };
    const used = pool.dispatch((replica) => ({ value: use(replica, { ...requestContextOf(options), signal, onSettled }), replica }), options);
    onWaiting();
    if (!onProgress) return (await used).value;
    const loading = this.#options.fleet.kept.find((member) => member.loading)?.loading;
    if (loading && pool.size === 0) onProgress(loading);
    this.#listeners.add(onProgress);
    try {
      return (await used).value;
    } finally {
      this.#listeners.delete(onProgress);
    }
  }
}
