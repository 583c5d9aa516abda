import type { Clock } from '../../../base/core/clock.ts';
import { deferred } from '../../../base/core/deferred.ts';
import type { Fleet, Member } from '../set/fleet.ts';
import type { SlotFailure } from '../slot/replica-slot.ts';
import type { ReplicaVersion } from '../set/replica-version.ts';
import { nextUpdateState, type UpdateEvent, type UpdateState } from './update-state.ts';
import { useOf } from '../set/use-of.ts';
import { faultOf, isUndecided, tallyOf } from './verdict.ts';

export interface RollingUpdateOptions {
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly from: ReplicaVersion;
  readonly to: ReplicaVersion;
  /** Wanted number of replicas of the new version. */
  readonly target: number;
  /** Whether the deployment sleeps. One replica is then tried, but only if there is room. */
  readonly isTrial: boolean;
  /** Milliseconds that a new replica must serve before the next old replica is stopped. */
  readonly watchMs: number;
  readonly onState?: ((state: UpdateState) => void) | undefined;
}

export interface UpdateResult {
  readonly outcome: 'updated' | 'rolled-back' | 'stopped';
  /** Number of new replicas that replaced old ones. */
  readonly replaced: number;
  /** Reason of a rollback; otherwise empty. */
  readonly reason: string;
  /** Last lines of a process of the new version, oldest first. */
  readonly lastLines: readonly string[];
}

/** Most processes of the new version that may be lost without a rollback. One may have been killed from outside. */
const MAX_LOSSES = 1;
/** Factor by which the watch of a new replica is extended at most, while too few calls have ended on it. */
const MAX_WATCHES = 10;
const POLL_MS = 100;
const MAX_SETTLE_MS = 1000;

/**
 * Replaces the replicas of a deployment by replicas of another version, one by one. If the devices have room, a new
 * replica starts beside the old ones and takes calls; then an old replica finishes its calls and ends. Without room an
 * old replica ends first, and the new one takes its place. If new replicas cannot start, die repeatedly, or fail most
 * of their calls, the update is rolled back in the same way.
 */
export class RollingUpdate {
  readonly #options: RollingUpdateOptions;
  readonly #restoreTo: number;
  /**
   * Replicas of the old version when the update began. Their tallies count all calls: before the update, during it, and
   * while the replicas retire.
   */
  readonly #old: readonly Member[];
  #interrupted = deferred();
  #interruption: UpdateEvent | undefined;
  #state: UpdateState = 'placing';
  /** The latest new replica. */
  #latest: Member | undefined;
  #losses = 0;
  #failure: SlotFailure | undefined;
  /** Called when a place becomes free, before another deployment can take it. */
  #onPlaceFree: ((member: Member) => void) | undefined;

  constructor(options: RollingUpdateOptions) {
    this.#options = options;
    this.#old = this.#of(options.from);
    this.#restoreTo = this.#old.length;
  }

  get state(): UpdateState {
    return this.#state;
  }

  /**
   * Runs the update. Never rejects. No other deployment gets the places of the old replicas before it ends, because a
   * rollback may need them.
   */
  async run(): Promise<UpdateResult> {
    const { fleet, from } = this.#options;
    const letGo = from.places?.hold(this.#of(from).flatMap((member) => fleet.placeOf(member) ?? []));
    const result = await this.#toEnd();
    letGo?.();
    return result;
  }

  async #toEnd(): Promise<UpdateResult> {
    for (;;) {
      const outcome = OUTCOMES[this.#state];
      if (outcome)
        return {
          outcome,
          replaced: outcome === 'updated' ? this.#of(this.#options.to).length : 0,
          reason: this.#failure?.reason ?? '',
          lastLines: this.#failure?.lastLines ?? [],
        };
      const event = this.#interruption ?? (await Promise.race([this.#interrupted.promise, this.#step()]));
      this.#enter(this.#interruption ?? event ?? 'stop');
    }
  }

  /** Called when a process was lost and will be restarted. */
  onLost({ version }: Member, { reason, lastLines }: SlotFailure): void {
    if (version !== this.#options.to) return;
    this.#losses += 1;
    if (this.#losses > MAX_LOSSES)
      this.#break({ reason: `new replicas were lost ${this.#losses} times; the last time ${reason}`, lastLines });
  }

  /** Called when a slot was given up. */
  onFailed({ version }: Member, failure: SlotFailure): void {
    if (version === this.#options.to) this.#break(failure);
  }

  /** Called when a slot is gone and its place is free. */
  onGone(member: Member): void {
    this.#onPlaceFree?.(member);
  }

  /** Rolls the update back. */
  cancel(reason: string): void {
    this.#break({ reason, lastLines: [] });
  }

  /** Ends the update without starting further replicas, because the deployment ends. */
  stop(): void {
    this.#interrupt('stop');
  }

  #break(failure: SlotFailure): void {
    if (!nextUpdateState(this.#state, 'broken')) return;
    this.#failure ??= failure;
    this.#interrupt('broken');
  }

  #interrupt(event: UpdateEvent): void {
    this.#interruption = event;
    this.#interrupted.resolve();
  }

  #enter(event: UpdateEvent): void {
    const next = nextUpdateState(this.#state, event);
    if (!next) return;
    [this.#interruption, this.#interrupted] = [undefined, deferred()];
    this.#onPlaceFree = undefined;
    this.#state = next;
    this.#options.onState?.(next);
  }

  async #step(): Promise<UpdateEvent> {
    switch (this.#state) {
      case 'placing':
        return this.#place();
      case 'making-room':
        return this.#makeRoom();
      case 'starting':
        return this.#start();
      case 'settling':
        return this.#settle();
      case 'watching':
        return this.#watch();
      case 'retiring':
        return this.#retireOld();
      default:
        await this.#restore();
        return 'restored';
    }
  }

  #place(): UpdateEvent {
    const { fleet, from, to, target, isTrial } = this.#options;
    const old = this.#of(from);
    if (this.#of(to).length >= target) return old.length > 0 ? 'enough' : 'complete';
    this.#latest = fleet.add(to, { takesCalls: false });
    if (this.#latest) return 'placed';
    if (old.length > 0 || this.#leaving) return 'no-room';
    if (isTrial) return 'complete';
    this.#failure ??= { reason: to.places?.noRoom(target).message ?? 'there is no room for a replica', lastLines: [] };
    return 'broken';
  }

  async #makeRoom(): Promise<UpdateEvent> {
    const { fleet, from, to } = this.#options;
    const leaving = this.#leaving ?? this.#of(from)[0];
    if (!leaving) return 'left';
    this.#latest = undefined;
    this.#onPlaceFree = (member) => {
      if (member === leaving) this.#latest = fleet.add(to, { takesCalls: false });
    };
    await fleet.hurry(leaving);
    return this.#latest ? 'placed' : 'left';
  }

  async #start(): Promise<UpdateEvent> {
    await this.#latest?.slot.settled;
    if (this.#latest?.slot.wasReady) return 'ready';
    this.#failure ??= this.#latest?.slot.failure ??
      this.#latest?.slot.lastLoss ?? { reason: 'the new replica was stopped before it was ready', lastLines: [] };
    return 'broken';
  }

  /**
   * Waits before the new replica takes calls, so that no call is lost if it dies by itself. Does not wait when no other
   * replica serves.
   */
  async #settle(): Promise<UpdateEvent> {
    const { fleet, watchMs } = this.#options;
    const isServed = fleet.kept.some(({ slot, takesCalls }) => takesCalls && slot.state === 'serving');
    if (isServed) await this.#staysUp(Math.min(watchMs / 2, MAX_SETTLE_MS));
    return 'settled';
  }

  /**
   * Watches whether the new replica stays up and answers its calls. The watch is longer while too few calls have ended.
   */
  async #watch(): Promise<UpdateEvent> {
    const { fleet, clock, watchMs } = this.#options;
    if (this.#latest) fleet.admit(this.#latest);
    const seenBefore = this.#seen;
    let isUp = false;
    void this.#staysUp(watchMs).then(() => (isUp = true));
    const until = clock.now() + watchMs * MAX_WATCHES;
    while (this.#state === 'watching') {
      const isLast = isUp && clock.now() >= until;
      const members = this.#of(this.#options.to);
      const reason = faultOf(members, this.#old, isLast);
      if (reason !== undefined) {
        this.#failure ??= { reason, lastLines: [] };
        return 'broken';
      }
      if (isUp && (isLast || !isUndecided(members, this.#seen > seenBefore))) break;
      await clock.delay(Math.min(POLL_MS, watchMs));
    }
    return 'stable';
  }

  /** Number of calls that ended on replicas of either version. */
  get #seen(): number {
    return tallyOf(this.#options.fleet.kept).calls;
  }

  /** Resolves when no new replica was lost for `ms`, and the latest is up. */
  async #staysUp(ms: number): Promise<void> {
    const { clock } = this.#options;
    const state = this.#state;
    for (let losses = -1; losses !== this.#losses;) {
      while (this.#state === state && this.#latest?.slot.state !== 'serving') await clock.delay(POLL_MS);
      losses = this.#losses;
      await clock.delay(ms);
      if (this.#state !== state) return; // the update has moved on
    }
  }

  /** Dismisses the surplus of old replicas. */
  async #retireOld(): Promise<UpdateEvent> {
    const { from, to, target } = this.#options;
    const old = this.#of(from);
    const surplus = old.length - Math.max(0, target - this.#of(to).length);
    await Promise.all(old.slice(0, Math.max(0, surplus)).map((member) => this.#options.fleet.dismiss(member)));
    return 'left';
  }

  /** Restores the old version in the same way, but without a watch, because it served before. */
  async #restore(): Promise<void> {
    const { fleet, from, to } = this.#options;
    const isNoGood = ({ slot, losses }: Member): boolean => losses > 0 || slot.state !== 'serving';
    await this.#retire(this.#of(to).filter(isNoGood));
    for (;;) {
      const surplus = this.#of(to);
      const missing = this.#restoreTo - this.#of(from).length;
      if (missing <= 0) {
        await Promise.all(surplus.map((member) => fleet.dismiss(member)));
        return;
      }
      let back = fleet.add(from);
      if (!back) {
        const [first] = surplus;
        const leaving = this.#leaving ?? first;
        if (!leaving) return; // the deployment no longer starts replicas
        this.#onPlaceFree = () => (back ??= fleet.add(from));
        await fleet.hurry(leaving);
      }
      await back?.slot.settled;
    }
  }

  async #retire(members: readonly Member[]): Promise<void> {
    await Promise.all(members.map((member) => this.#options.fleet.hurry(member)));
  }

  /** A replica of either version that finishes its last calls. It is ended first when a place is needed. */
  get #leaving(): Member | undefined {
    return this.#options.fleet.ending[0];
  }

  /** Returns the kept replicas of a version, the least used first. */
  #of(wanted: ReplicaVersion): Member[] {
    return this.#options.fleet.kept.filter(({ version }) => version === wanted).sort((a, b) => useOf(a) - useOf(b));
  }
}

const OUTCOMES: Readonly<Partial<Record<UpdateState, UpdateResult['outcome']>>> = {
  done: 'updated',
  'rolled-back': 'rolled-back',
  stopped: 'stopped',
};
