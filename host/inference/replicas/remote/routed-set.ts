import type { Clock } from '../../../base/core/clock.ts';
import type { AanaError } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { RequestContext } from '../../../base/core/request-context.ts';
import type { Telemetry } from '../../../base/core/telemetry.ts';
import type { ServedMethods } from '../../rpc/method.ts';
import { CallRouter } from '../calls/call-router.ts';
import type { SetCallOptions } from '../calls/replica-calls.ts';
import type { Reservation } from '../pool/workload.ts';
import type { SharedSet } from '../set/shared-set.ts';
import { restartDelayMs } from '../slot/backoff.ts';
import { type ConnectReplica, RemoteReplica } from './remote-replica.ts';

export interface RoutedSetOptions {
  readonly deployment: string;
  readonly shared: SharedSet;
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: () => number;
  readonly telemetry?: Telemetry | undefined;
  /** Returns the weight of a user among those whose calls wait. Default: all have the same. */
  readonly weightOf?: ((userId: string) => number | undefined) | undefined;
  readonly connect: ConnectReplica;
  /** What its replicas may call in this host. */
  readonly served: ServedMethods;
  /** Folders of the artifacts of this host. Default: there are none. */
  readonly artifactRoots?: readonly string[] | undefined;
  /** Called when the number of waiting calls has changed. */
  onQueue(): void;
  /** Called with the outcome of each call on the replica with this token. */
  record(token: string, error?: unknown): void;
}

/** Milliseconds after the end of a connection in which the table may say that the replica is gone. */
const CLEAR_MS = 200;

/** One replica of the table. */
interface Place {
  readonly listed: SharedSet['replicas'][number];
  /** Undefined while it waits for the next attempt to connect. */
  replica: RemoteReplica | undefined;
  readonly ending: AbortController;
}

/**
 * Calls the replicas of a deployment that another process keeps running. That process tells which replicas there are;
 * see {@link update}. A replica whose connection is lost counts as lost in this host until it is connected again.
 */
export class RoutedSet {
  readonly #options: RoutedSetOptions;
  readonly #router: CallRouter<RemoteReplica>;
  /** By token. */
  readonly #places = new Map<string, Place>();
  readonly #tokens = new WeakMap<RemoteReplica, string>();
  /** Connections that are not closed, also to replicas that left the table and finish their calls. */
  readonly #open = new Set<RemoteReplica>();
  #shared: SharedSet;

  constructor(options: RoutedSetOptions) {
    const { deployment, shared, clock, random, telemetry, weightOf, onQueue, record } = options;
    this.#options = options;
    this.#shared = shared;
    this.#router = new CallRouter<RemoteReplica>({
      ...{ deployment, clock, random, telemetry, weightOf, onQueue, log: options.log.child({ deployment }) },
      bounds: shared.bounds,
      unavailable: () => this.#shared.unavailable,
      record: (replica, error) => record(this.#tokens.get(replica) ?? '', error),
      loading: () => undefined, // only the process that starts replicas knows
      onWaiting: () => {},
    });
    this.update(shared);
  }

  /** Number of calls that wait for a replica. */
  get waiting(): number {
    return this.#router.pool.waitingForReplica;
  }

  /** Sets what the process that keeps the replicas running tells of them. */
  update(shared: SharedSet): void {
    const { pool } = this.#router;
    const before = this.#shared;
    this.#shared = shared;
    pool.setBounds(shared.bounds);
    const listed = new Map(shared.replicas.map((replica) => [replica.address.token, replica]));
    for (const [token, place] of this.#places) if (!listed.has(token)) this.#remove(token, place);
    for (const [token, replica] of listed) {
      if (!this.#places.has(token)) this.#add(token, replica);
      this.#places.get(token)?.replica?.models.told(replica.models);
    }
    const { refusal, refused } = shared;
    if (refusal) pool.close(() => refusal, { waiting: false });
    else pool.open();
    const error = refusal && listed.size === 0 ? refusal : refused.error;
    const isRefused = error === refusal || refused.count !== before.refused.count;
    if (error && isRefused) pool.refuseWaiting(() => error);
  }

  call(method: string, args: Record<string, unknown>, options: SetCallOptions = {}): Promise<unknown> {
    return this.#router.calls.call(method, args, options);
  }

  stream(
    method: string,
    args: Record<string, unknown>,
    options: SetCallOptions = {},
  ): AsyncGenerator<unknown[], unknown, undefined> {
    return this.#router.calls.stream(method, args, options);
  }

  reserve(context: RequestContext): Reservation {
    return this.#router.calls.reserve(context);
  }

  /** Takes no more calls. Waiting and running calls fail with `error`. */
  close(error: () => AanaError): void {
    this.#router.pool.close(error, { waiting: true });
    for (const { ending } of this.#places.values()) ending.abort();
    this.#places.clear();
    for (const replica of this.#open) replica.close(error);
  }

  #add(token: string, listed: Place['listed']): void {
    const place: Place = { listed, replica: undefined, ending: new AbortController() };
    this.#places.set(token, place);
    void this.#keep(token, place);
  }

  #remove(token: string, { replica, ending }: Place): void {
    this.#places.delete(token);
    ending.abort();
    void replica?.retire();
  }

  /** Connects to a replica, again and again while it is in the table. */
  async #keep(token: string, place: Place): Promise<void> {
    const { clock, random } = this.#options;
    for (let failures = 0; !place.ending.signal.aborted;) {
      const wasUp = await this.#connected(token, place);
      failures = wasUp ? 1 : failures + 1;
      await clock.delay(restartDelayMs(failures, false, random), place.ending.signal).catch(() => {});
    }
  }

  /** Connects once. Resolves when the connection has ended, with whether the replica took calls. */
  #connected(token: string, place: Place): Promise<boolean> {
    const { deployment, clock, served, artifactRoots, connect } = this.#options;
    const { pool } = this.#router;
    const { name, address, models } = place.listed;
    return new Promise((resolve) => {
      let wasUp = false;
      const replica: RemoteReplica = new RemoteReplica({
        ...{ deployment, name, address, clock, served, artifactRoots, connect },
        onState: (state) => {
          if (state !== 'ready') return pool.remove(replica);
          wasUp = true;
          pool.add(replica);
        },
        onLoad: () => pool.release(),
        onSilence: (isSilent) => (isSilent ? pool.remove(replica) : pool.add(replica)),
        untilClear: () => clock.delay(CLEAR_MS, place.ending.signal).catch(() => {}),
        onClosed: () => {
          this.#open.delete(replica);
          if (place.replica === replica) place.replica = undefined;
          resolve(wasUp);
        },
      });
      replica.models.told(models);
      this.#tokens.set(replica, token);
      this.#open.add(replica);
      place.replica = replica;
    });
  }
}
