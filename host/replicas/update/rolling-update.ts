import type { Clock } from '../../core/clock.ts';
import { deferred } from '../../core/deferred.ts';
import type { Fleet, Member } from '../set/fleet.ts';
import { MIN_SAMPLE, Tally } from '../process/outcomes.ts';
import type { SlotFailure } from '../slot/replica-slot.ts';
import type { ReplicaVersion } from '../set/replica-version.ts';
import { nextUpdateState, type UpdateEvent, type UpdateState } from './update-state.ts';
import { useOf } from '../set/use-of.ts';

export interface RollingUpdateOptions {
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly from: ReplicaVersion;
  readonly to: ReplicaVersion;
  /** Replicas of the new version that there should be. */
  readonly target: number;
  /** The deployment sleeps: one replica is tried where there is room for it, and without room none. */
  readonly isTrial: boolean;
  /** Milliseconds that a new replica must serve before the next old one goes. */
  readonly watchMs: number;
  readonly onState?: ((state: UpdateState) => void) | undefined;
}

export interface UpdateResult {
  readonly outcome: 'updated' | 'rolled-back' | 'stopped';
  /** New replicas that took the place of old ones. */
  readonly replaced: number;
  /** Why it was taken back; empty when it was not. */
  readonly reason: string;
  /** What the process of the new version wrote last, oldest line first. */
  readonly lastLines: readonly string[];
}

/**
 * The new version is taken back when more of its processes are lost than this: one may have been killed from outside.
 */
const MAX_LOSSES = 1;
/** A new replica is watched up to this many times longer than asked for, while too few calls have ended on it. */
const MAX_WATCHES = 10;
const POLL_MS = 100;
const MAX_SETTLE_MS = 1000;

/**
 * Replaces the replicas of a deployment by replicas of another version, one by one. Where the devices have room, a new
 * replica starts beside the old ones and takes calls; then an old one finishes its calls and goes. Where they have no
 * room, an old replica goes first, and the new one gets its place. When new replicas cannot start, die repeatedly, or
 * fail most of their calls, the old version comes back the same way.
 */
export class RollingUpdate {
  readonly #options: RollingUpdateOptions;
  readonly #restoreTo: number;
  /**
   * The replicas of the old version when the update began. Their tallies count all of their calls: those before the
   * update, those during it, and those that end while they retire.
   */
  readonly #old: readonly Member[];
  #interrupted = deferred();
  #interruption: UpdateEvent | undefined;
  #state: UpdateState = 'placing';
  /** The new replica that was made last. */
  #latest: Member | undefined;
  #losses = 0;
  #failure: SlotFailure | undefined;
  /** Called when a place has become free, before another deployment can take it. */
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
   * Never rejects. Until it ends, no other deployment gets the places of the old replicas, because these may have to
   * come back.
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

  /** A process was lost that another one will follow. */
  onLost({ version }: Member, { reason, lastLines }: SlotFailure): void {
    if (version !== this.#options.to) return;
    this.#losses += 1;
    if (this.#losses > MAX_LOSSES)
      this.#break({ reason: `new replicas were lost ${this.#losses} times; the last time ${reason}`, lastLines });
  }

  /** A slot was given up. */
  onFailed({ version }: Member, failure: SlotFailure): void {
    if (version === this.#options.to) this.#break(failure);
  }

  /** A slot is gone, its place is free. */
  onGone(member: Member): void {
    this.#onPlaceFree?.(member);
  }

  /** Takes the update back. */
  cancel(reason: string): void {
    this.#break({ reason, lastLines: [] });
  }

  /** The deployment ends: the update starts nothing more. */
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
    this.#failure ??= { reason: to.places?.noRoom(target).message ?? 'there is no room for it', lastLines: [] };
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
   * The new replica takes no calls for a while, so that none is lost when it dies by itself. It takes calls at once
   * when no other replica serves.
   */
  async #settle(): Promise<UpdateEvent> {
    const { fleet, watchMs } = this.#options;
    const isServed = fleet.kept.some(({ slot, takesCalls }) => takesCalls && slot.state === 'serving');
    if (isServed) await this.#staysUp(Math.min(watchMs / 2, MAX_SETTLE_MS));
    return 'settled';
  }

  /**
   * The new replica must stay up, and answer calls if there are any. It is watched for longer while too few calls have
   * ended.
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
      const reason = this.#whyNoGood(isLast);
      if (reason !== undefined) {
        this.#failure ??= { reason, lastLines: [] };
        return 'broken';
      }
      if (isUp && (isLast || !this.#isUndecided(seenBefore))) break;
      await clock.delay(Math.min(POLL_MS, watchMs));
    }
    return 'stable';
  }

  /** Whether calls come, and too few have ended on the new version to judge it. */
  #isUndecided(seenBefore: number): boolean {
    const members = this.#of(this.#options.to);
    const { calls, failed } = tallyOf(members);
    return (
      calls < MIN_SAMPLE &&
      (failed > 0 || this.#seen > seenBefore || members.some(({ slot }) => (slot.replica?.ongoing ?? 0) > 0))
    );
  }

  /** The number of calls that ended on replicas of either version. */
  get #seen(): number {
    return tallyOf(this.#options.fleet.kept).calls;
  }

  /**
   * Returns why the new version is taken back: most of its calls fail by its own fault, and a larger share than on the
   * old version. When the watch ends with few calls, all of them must have failed. A few calls on the old version
   * excuse nothing.
   */
  #whyNoGood(isLast: boolean): string | undefined {
    const tally = tallyOf(this.#of(this.#options.to));
    const { calls, failed, lastReason } = tally;
    const isEnough = calls >= MIN_SAMPLE || (isLast && failed === calls);
    if (!isEnough || !tally.isMostlyFailures) return undefined;
    const old = tallyOf(this.#old);
    if (old.calls >= MIN_SAMPLE && old.failedShare >= tally.failedShare) return undefined;
    return `${failed} of ${calls} calls of the new version failed by its own fault; the last time ${lastReason}`;
  }

  /** Resolves when no new replica was lost for `ms`, and the latest is up. */
  async #staysUp(ms: number): Promise<void> {
    const { clock } = this.#options;
    const state = this.#state;
    for (let losses = -1; losses !== this.#losses;) {
      while (this.#state === state && this.#latest?.slot.state !== 'serving') await clock.delay(POLL_MS);
      losses = this.#losses;
      await clock.delay(ms);
      if (this.#state !== state) return; // the update has gone on
    }
  }

  /** Dismisses as many old replicas as are too many now. */
  async #retireOld(): Promise<UpdateEvent> {
    const { from, to, target } = this.#options;
    const old = this.#of(from);
    const surplus = old.length - Math.max(0, target - this.#of(to).length);
    await Promise.all(old.slice(0, Math.max(0, surplus)).map((member) => this.#options.fleet.dismiss(member)));
    return 'left';
  }

  /** Brings the old version back the same way, without a watch, because it was serving before. */
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
        if (!leaving) return; // the deployment starts nothing any more
        this.#onPlaceFree = () => (back ??= fleet.add(from));
        await fleet.hurry(leaving);
      }
      await back?.slot.settled;
    }
  }

  async #retire(members: readonly Member[]): Promise<void> {
    await Promise.all(members.map((member) => this.#options.fleet.hurry(member)));
  }

  /** A replica of either version that finishes its last calls. It goes first when a place is needed. */
  get #leaving(): Member | undefined {
    return this.#options.fleet.ending[0];
  }

  /** The replicas of a version that are kept, the least used first. */
  #of(wanted: ReplicaVersion): Member[] {
    return this.#options.fleet.kept.filter(({ version }) => version === wanted).sort((a, b) => useOf(a) - useOf(b));
  }
}

function tallyOf(members: readonly Member[]): Tally {
  return members.reduce((sum, { tally }) => sum.plus(tally), new Tally());
}

const OUTCOMES: Readonly<Partial<Record<UpdateState, UpdateResult['outcome']>>> = {
  done: 'updated',
  'rolled-back': 'rolled-back',
  stopped: 'stopped',
};
