import { type Clock, within } from '../../core/clock.ts';
import { AanaError } from '../../core/errors.ts';
import type { Logger } from '../../core/log/logger.ts';
import { type RestartDelay, restartDelayMs } from '../slot/backoff.ts';
import { OutcomeHealth, Tally } from '../process/outcomes.ts';
import { Replica } from '../process/replica.ts';
import type { ReplicaPool } from '../pool/replica-pool.ts';
import { ReplicaSlot, type SlotFailure } from '../slot/replica-slot.ts';
import type { Place, ReplicaVersion } from './replica-version.ts';
import type { RunningReplica, SpawnReplica } from '../process/running-replica.ts';

/** How far the loading of a model is. */
export interface LoadProgress {
  /** 0 to 1; undefined when unknown. */
  readonly fraction: number | undefined;
  readonly text: string;
}

/** A slot with what it is made from. */
export interface Member {
  readonly slot: ReplicaSlot;
  /** Of its processes that start from now on; the one that runs may be of the one before for a moment. */
  version: ReplicaVersion;
  /** Of the process that is loading now. */
  loading: LoadProgress | undefined;
  /** Processes of it that were lost. */
  losses: number;
  /** How the calls on its processes ended. */
  readonly tally: Tally;
  /** Whether calls go to it once it is ready. */
  takesCalls: boolean;
}

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
  /** Where replicas that are ready go. */
  readonly pool: ReplicaPool<RunningReplica>;
  onProgress(progress: LoadProgress): void;
  /** A process was lost that another one will follow. */
  onLost(member: Member, loss: SlotFailure): void;
  onFailed(member: Member, failure: SlotFailure): void;
  onGone(member: Member): void;
}

/** The slots of one deployment: makes them, with their places, and forgets them when they are gone. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #places = new Map<Member, Place>();
  readonly #health = new WeakMap<RunningReplica, OutcomeHealth>();
  readonly #memberOf = new WeakMap<RunningReplica, Member>();
  readonly #specs = new WeakMap<RunningReplica, unknown>();
  /** When replicas last told of progress, by their names. */
  readonly #progressAt = new Map<string, number>();
  /** Versions of which a replica was ready once. */
  readonly #proven = new WeakSet<ReplicaVersion>();
  /** What the first replica of a version said of its code. */
  readonly #codes = new WeakMap<ReplicaVersion, string>();
  /** In the order of their making. Those that are kept running, given up ones among them, and those that are ending. */
  #members: Member[] = [];
  #isClosed = false;

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  get members(): readonly Member[] {
    return this.#members;
  }

  /** Those that are not on their way out. */
  get kept(): Member[] {
    return this.#members.filter(({ slot }) => slot.state !== 'retiring' && slot.state !== 'gone');
  }

  /** Those that are on their way out; what they have is free when they are gone. */
  get ending(): Member[] {
    return this.#members.filter(({ slot }) => slot.state === 'retiring');
  }

  /** The place of a slot that is not gone. */
  placeOf(member: Member): Place | undefined {
    return this.#places.get(member);
  }

  /** A call came to its end on this replica. */
  record(replica: RunningReplica, error?: unknown): void {
    this.#health.get(replica)?.record(error);
    this.#memberOf.get(replica)?.tally.add(error);
  }

  /** What the calls since the last check say of a replica; undefined when they were too few. */
  checkHealth(replica: RunningReplica): ReturnType<OutcomeHealth['check']> {
    return this.#health.get(replica)?.check();
  }

  /** What a process was started from, or was told since then. */
  specOf(replica: RunningReplica): unknown {
    return this.#specs.get(replica);
  }

  /**
   * Hands a process that runs another spec. Rejects when it cannot take it; then it has what it had. Rejects
   * `ReconfigureTimeout` when it makes no progress for as long as a start may; then nobody knows what it has.
   */
  async reconfigure(replica: RunningReplica, spec: unknown): Promise<void> {
    const member = this.#memberOf.get(replica);
    try {
      await this.#whileItProgresses(replica.reconfigure(spec), replica, member?.version.startTimeoutMs ?? 0);
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
      work.catch(() => {}); // nobody waits for it any more
      throw new AanaError(
        'ReconfigureTimeout',
        'deadline-exceeded',
        `replica ${name} did not take its new configuration: it made no progress for ${limitMs / 1000} s`,
        { fault: 'deployment' },
      );
    }
    await work;
  }

  /**
   * One more slot, under the first number that is free; undefined when there is no room for it. Without `takesCalls` it
   * waits for {@link admit}.
   */
  add(version: ReplicaVersion, { takesCalls = true }: { readonly takesCalls?: boolean } = {}): Member | undefined {
    if (this.#isClosed) return undefined;
    const place = version.places ? version.places.take() : EVERYWHERE;
    return place && this.#make(version, place, takesCalls);
  }

  /** What is known of a version holds for another one, whose replicas are the same but for their number. */
  inherit(before: ReplicaVersion, version: ReplicaVersion): void {
    if (this.#proven.has(before)) this.#proven.add(version);
    const code = this.#codes.get(before);
    if (code !== undefined) this.#codes.set(version, code);
  }

  /** All that there is belongs to another version from now on, which running replicas have taken. */
  adopt(before: ReplicaVersion, version: ReplicaVersion): void {
    this.inherit(before, version);
    for (const member of this.kept) member.version = version;
  }

  /** From now on it takes calls. */
  admit(member: Member): void {
    if (member.takesCalls) return;
    member.takesCalls = true;
    const { replica } = member.slot;
    if (replica?.state === 'ready') this.#options.pool.add(replica);
  }

  /** So many more slots, or none: undefined when there is no room for all of them. */
  addAll(version: ReplicaVersion, count: number): Member[] | undefined {
    const taken: Place[] = [];
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
   * One that is not wanted any more: it takes no calls, and may finish those that it has as long as nobody needs its
   * place. Resolves when it is gone, or after the shorter grace.
   */
  async dismiss({ slot, version }: Member): Promise<void> {
    const gone = slot.retire(Math.max(version.graceMs, version.drainMs));
    await within(gone, version.graceMs, this.#options.clock);
  }

  /**
   * The place of one that is ending is needed: its calls get the shorter grace from now on. Resolves when it is gone.
   */
  async hurry({ slot, version }: Member): Promise<void> {
    await slot.retire(version.graceMs);
  }

  /** Ends all that there is and makes no more; what it ended with stays visible. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#members.map(({ slot }) => slot.retire(graceMs)));
  }

  #make(version: ReplicaVersion, place: Place, takesCalls: boolean): Member {
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

  #spawn(member: Member, name: string, place: Place): RunningReplica {
    const { deployment, log, env, nice, pool } = this.#options;
    const { version } = member;
    const { implementation, spec, startTimeoutMs, healthPeriodMs, healthTimeoutMs } = version;
    const spawn: SpawnReplica = this.#options.spawn ?? ((options) => new Replica(options));
    member.loading = { fraction: undefined, text: 'starting' };
    const replica: RunningReplica = spawn({
      deployment,
      name,
      implementation,
      spec,
      log,
      nice,
      startTimeoutMs,
      healthPeriodMs,
      healthTimeoutMs,
      env: { ...env, ...place.env },
      onProgress: (fraction, text) => {
        member.loading = { fraction, text };
        this.#progressAt.set(name, this.#options.clock.now());
        this.#options.onProgress(member.loading);
      },
      onMemory: (memory) => place.onMemory?.(memory),
      onState: (state) => {
        member.loading = undefined;
        if (state === 'ready') this.#onReady(member, replica);
        if (state === 'ready' || state === 'exited') place.onLoaded?.(state === 'ready');
        if (state !== 'ready') pool.remove(replica);
        else if (member.takesCalls) pool.add(replica);
      },
    });
    this.#health.set(replica, new OutcomeHealth());
    this.#memberOf.set(replica, member);
    this.#specs.set(replica, spec);
    return replica;
  }

  #onReady({ version }: Member, { name, code }: RunningReplica): void {
    if (!this.#proven.has(version)) this.#onProven(version); // which may be another one than it was started with
    const first = this.#codes.get(version) ?? code;
    if (first === undefined || code === undefined) return;
    this.#codes.set(version, first);
    if (code !== first)
      this.#options.log.error(
        'a replica runs other code than the first one of its version: files have changed since; update the deployment, or restart the application',
        { replica: name },
      );
  }

  /**
   * The first replica of a version is ready: those that were given up before would be tried again by now. Their places
   * are for others.
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

const EVERYWHERE: Place = { env: {}, release: () => {} };
