import { type Clock, within } from '../../../base/core/clock.ts';
import { outsideRequests } from '../../../base/core/async/request-scope.ts';
import { type AanaError, fail } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { type RestartDelay, restartDelayMs } from '../slot/backoff.ts';
import { OutcomeHealth, Tally } from '../process/outcomes.ts';
import { Replica } from '../process/replica.ts';
import type { ReplicaPool } from '../pool/replica-pool.ts';
import { ReplicaSlot, type SlotFailure } from '../slot/replica-slot.ts';
import type { ReplicaMetrics } from './replica-metrics.ts';
import type { DevicePlace, ReplicaVersion } from './replica-version.ts';
import type { RemoteListening, ReplicaOptions, RunningReplica, SpawnReplica } from '../process/running-replica.ts';

/** Progress of loading a model. */
export interface LoadProgress {
  /** 0 to 1; undefined when unknown. */
  readonly fraction: number | undefined;
  readonly text: string;
}

/** A slot with its version and records. */
export interface Member {
  readonly slot: ReplicaSlot;
  /** Version of processes that start from now on. The running process may briefly be of the previous version. */
  version: ReplicaVersion;
  /** Progress of the process that is loading. */
  loading: LoadProgress | undefined;
  /** Number of lost processes. */
  losses: number;
  /** Outcomes of the calls on its processes. */
  readonly tally: Tally;
  /** Whether it gets calls when it is ready. */
  takesCalls: boolean;
}

/** Returns why no replica may be started or replaced; undefined if they may. */
export type Fence = () => AanaError | undefined;

export interface FleetOptions {
  readonly deployment: string;
  readonly log: Logger;
  /** Environment of all processes. */
  readonly env: NodeJS.ProcessEnv;
  readonly nice: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly restartDelay?: RestartDelay | undefined;
  readonly spawn?: SpawnReplica | undefined;
  /** Folder for the sockets on which replicas listen for further hosts. Default: they have none. */
  readonly socketsDir?: string | undefined;
  /** Default: replicas may always be started. */
  readonly fence?: Fence | undefined;
  readonly artifacts?: ReplicaOptions['artifacts'];
  /** Where replicas also listen for hosts of other machines. Default: nowhere. */
  readonly remote?: RemoteListening | undefined;
  /** Calls that one replica takes at the same time. */
  readonly maxOngoing: number;
  /** Records what the processes measure. */
  readonly metrics: ReplicaMetrics;
  /** Pool to which ready replicas are added. */
  readonly pool: ReplicaPool<RunningReplica>;
  onProgress(progress: LoadProgress): void;
  /** Called when other hosts would see something else of the replicas. */
  onChange(): void;
  /** Called when the number of calls of other hosts has changed. */
  onLoad(): void;
  /** Called when a process was lost and will be restarted. */
  onLost(member: Member, loss: SlotFailure): void;
  onFailed(member: Member, failure: SlotFailure): void;
  onGone(member: Member): void;
}

/** The slots of one deployment. Creates them with their places, and removes them when they are gone. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #places = new Map<Member, DevicePlace>();
  readonly #health = new WeakMap<RunningReplica, OutcomeHealth>();
  readonly #memberOf = new WeakMap<RunningReplica, Member>();
  readonly #specs = new WeakMap<RunningReplica, unknown>();
  /** Time of the latest progress report, by the name of the replica. */
  readonly #progressAt = new Map<string, number>();
  /** Versions of which a replica was ever ready. */
  readonly #proven = new WeakSet<ReplicaVersion>();
  /** Code stamp of the first replica of each version. */
  readonly #codes = new WeakMap<ReplicaVersion, string>();
  /** In the order of creation: kept ones, including those that were given up, and ending ones. */
  #members: Member[] = [];
  #maxOngoing: number;
  #isClosed = false;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#maxOngoing = options.maxOngoing;
  }

  get members(): readonly Member[] {
    return this.#members;
  }

  /** Members that are not ending. */
  get kept(): Member[] {
    return this.#members.filter(({ slot }) => slot.state !== 'retiring' && slot.state !== 'gone');
  }

  /** Members that are ending. Their places are free when they are gone. */
  get ending(): Member[] {
    return this.#members.filter(({ slot }) => slot.state === 'retiring');
  }

  /** Returns the place of a slot that is not gone. */
  placeOf(member: Member): DevicePlace | undefined {
    return this.#places.get(member);
  }

  /** Sets another number of calls that each process takes. */
  setBounds(maxOngoing: number): void {
    this.#maxOngoing = maxOngoing;
    for (const { slot } of this.#members) slot.replica?.setBounds(maxOngoing);
  }

  /** Records the outcome of a call on this replica. */
  record(replica: RunningReplica, error?: unknown): void {
    this.#health.get(replica)?.record(error);
    this.#memberOf.get(replica)?.tally.add(error);
  }

  /** Returns the health of a replica by its calls since the last check; undefined when they were too few. */
  checkHealth(replica: RunningReplica): ReturnType<OutcomeHealth['check']> {
    return this.#health.get(replica)?.check();
  }

  /** Returns the spec with which a process was started or last reconfigured. */
  specOf(replica: RunningReplica): unknown {
    return this.#specs.get(replica);
  }

  /**
   * Gives a running process another spec. Rejects when the process refuses it and keeps its old spec. Rejects with
   * `ReconfigureTimeout` when it makes no progress for `timeoutMs`; its spec is then unknown.
   */
  async reconfigure(replica: RunningReplica, spec: unknown, timeoutMs: number): Promise<void> {
    const member = this.#memberOf.get(replica);
    try {
      await this.#whileItProgresses(replica.reconfigure(spec), replica, timeoutMs);
    } finally {
      if (member) member.loading = undefined;
    }
    this.#specs.set(replica, spec);
  }

  async #whileItProgresses(work: Promise<void>, { name }: RunningReplica, limitMs: number): Promise<void> {
    const { clock } = this.#options;
    const startedAt = clock.now();
    for (let waitMs = limitMs; !(await within(work, waitMs, clock));) {
      waitMs = Math.max(startedAt, this.#progressAt.get(name) ?? startedAt) + limitMs - clock.now();
      if (waitMs > 0) continue;
      work.catch(() => {}); // nobody awaits it any more
      throw fail(
        'ReconfigureTimeout',
        `replica ${name} did not take its new configuration, because it made no progress for ${limitMs / 1000} s ` +
          `(start_timeout_s)`,
        { fault: 'deployment' },
      );
    }
    await work;
  }

  /**
   * Adds a slot under the first free number. Returns undefined when there is no room. Without `takesCalls` it gets no
   * calls before {@link admit}.
   */
  add(version: ReplicaVersion, { takesCalls = true }: { readonly takesCalls?: boolean } = {}): Member | undefined {
    if (this.#isClosed) return undefined;
    const place = version.places ? version.places.take() : EVERYWHERE;
    return place && this.#make(version, place, takesCalls);
  }

  /** Copies what is known of a version to another one that differs only in the number of replicas. */
  inherit(before: ReplicaVersion, version: ReplicaVersion): void {
    if (this.#proven.has(before)) this.#proven.add(version);
    const code = this.#codes.get(before);
    if (code !== undefined) this.#codes.set(version, code);
  }

  /** Sets another version for all kept members. Running replicas have already taken it. */
  adopt(before: ReplicaVersion, version: ReplicaVersion): void {
    this.inherit(before, version);
    for (const member of this.kept) member.version = version;
  }

  /** Lets calls go to a member. */
  admit(member: Member): void {
    if (member.takesCalls) return;
    member.takesCalls = true;
    const { replica } = member.slot;
    if (replica?.state !== 'ready') return;
    this.#options.pool.add(replica);
    this.#options.onChange();
  }

  /** Adds `count` slots, or none. Returns undefined when there is no room for all of them. */
  addAll(version: ReplicaVersion, count: number): Member[] | undefined {
    const taken: DevicePlace[] = [];
    while (taken.length < count) {
      const place = version.places ? version.places.take() : EVERYWHERE;
      if (!place) break;
      taken.push(place);
    }
    if (taken.length === count && !this.#isClosed) return taken.map((place) => this.#make(version, place, true));
    for (const place of taken) place.release();
    return undefined;
  }

  /**
   * Ends a member that is no longer needed. It takes no more calls, and may finish its calls while nobody needs its
   * place. Resolves when it is gone, or after the shorter grace.
   */
  async dismiss({ slot, version }: Member): Promise<void> {
    const gone = slot.retire(Math.max(version.graceMs, version.drainMs));
    await within(gone, version.graceMs, this.#options.clock);
  }

  /** Gives the calls of an ending member the shorter grace, because its place is needed. Resolves when it is gone. */
  async hurry({ slot, version }: Member): Promise<void> {
    await slot.retire(version.graceMs);
  }

  /** Ends all members and adds no more. They stay visible in {@link members}. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#members.map(({ slot }) => slot.retire(graceMs)));
  }

  #make(version: ReplicaVersion, place: DevicePlace, takesCalls: boolean): Member {
    const { deployment, log, clock, random, restartDelay } = this.#options;
    const names = new Set(this.#members.map(({ slot }) => slot.name));
    let number = 1;
    while (names.has(`${deployment}#${number}`)) number += 1;
    const name = `${deployment}#${number}`;
    const slot = new ReplicaSlot({
      name,
      log,
      clock,
      restartDelay: restartDelay ?? ((failures, isRefused) => restartDelayMs(failures, isRefused, random)),
      isProven: () => this.#proven.has(member.version),
      spawn: () => this.#spawn(member, name, place),
      onLost: (loss) => {
        member.losses += 1;
        this.#options.onLost(member, loss);
      },
      onFailed: (failure) => this.#options.onFailed(member, failure),
    });
    const member: Member = { slot, version, loading: undefined, losses: 0, tally: new Tally(), takesCalls };
    this.#members.push(member);
    this.#places.set(member, place);
    slot.begin();
    void slot.gone.then(() => this.#onGone(member));
    return member;
  }

  #spawn(member: Member, name: string, place: DevicePlace): RunningReplica {
    const { deployment, log, env, nice, pool } = this.#options;
    const refusal = this.#options.fence?.();
    if (refusal) throw refusal;
    const { version } = member;
    const { implementation, spec, served, startTimeoutMs, healthPeriodMs, healthTimeoutMs } = version;
    const make: SpawnReplica = this.#options.spawn ?? ((options) => new Replica(options));
    const spawn: SpawnReplica = (options) => outsideRequests(() => make(options));
    member.loading = { fraction: undefined, text: 'starting' };
    const metrics = this.#options.metrics.open();
    const replica: RunningReplica = spawn({
      deployment,
      name,
      implementation,
      spec,
      log,
      nice,
      served,
      startTimeoutMs,
      healthPeriodMs,
      healthTimeoutMs,
      env: { ...env, ...place.env },
      maxOngoing: this.#maxOngoing,
      socketsDir: this.#options.socketsDir,
      artifacts: this.#options.artifacts,
      remote: this.#options.remote,
      onLoad: this.#options.onLoad,
      onModels: this.#options.onChange,
      processors: place.processors,
      onProgress: (fraction, text) => {
        member.loading = { fraction, text };
        this.#progressAt.set(name, this.#options.clock.now());
        this.#options.onProgress(member.loading);
      },
      onMemory: (memory) => place.onMemory?.(memory),
      onMetrics: metrics.report,
      onState: (state) => {
        member.loading = undefined;
        if (state === 'ready') this.#onReady(member, replica);
        if (state === 'exited') metrics.close();
        if (state === 'ready' || state === 'exited') place.onLoaded?.(state === 'ready');
        if (state !== 'ready') pool.remove(replica);
        else if (member.takesCalls) pool.add(replica);
        this.#options.onChange();
      },
    });
    this.#health.set(replica, new OutcomeHealth());
    this.#memberOf.set(replica, member);
    this.#specs.set(replica, spec);
    return replica;
  }

  #onReady({ version }: Member, { name, code }: RunningReplica): void {
    if (!this.#proven.has(version)) this.#onProven(version); // the version may have changed since the start
    const first = this.#codes.get(version) ?? code;
    if (first === undefined || code === undefined) return;
    this.#codes.set(version, first);
    if (code !== first)
      this.#options.log.error(
        'a replica runs other code than the first replica of its version, because files have changed; update the ' +
          'deployment or restart the application',
        { replica: name },
      );
  }

  /**
   * Called when the first replica of a version is ready. Retires slots of the version that were given up before, which
   * frees their places.
   */
  #onProven(version: ReplicaVersion): void {
    this.#proven.add(version);
    for (const { slot, version: other } of this.#members)
      if (other === version && slot.state === 'failed') void slot.retire(0);
  }

  #onGone(member: Member): void {
    this.#places.get(member)?.release();
    this.#places.delete(member);
    this.#progressAt.delete(member.slot.name);
    if (!this.#isClosed) this.#members = this.#members.filter((other) => other !== member);
    this.#options.onGone(member);
  }
}

const EVERYWHERE: DevicePlace = { env: {}, release: () => {} };
