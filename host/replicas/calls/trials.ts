import type { Clock } from '../../core/clock.ts';

/** A suspect that a replica tries alone. */
export interface TriedSuspect {
  /**
   * Milliseconds for which its replica tries no other suspect. Then it has outlived what ended the replica before, and
   * a longer trial would only hold up other suspects.
   */
  readonly aloneMs: number;
}

/**
 * Knows which suspect each replica tries alone. This is the only record of it: the pool reads it to choose a replica
 * for a suspect, and when a replica is lost, it tells which of the suspects there is to blame.
 */
export class Trials<Member extends object> {
  readonly #clock: Clock;
  readonly #onFree: () => void;
  readonly #alone = new WeakMap<Member, { readonly suspect: TriedSuspect; readonly timer: AbortController }>();

  /** @param onFree called when a replica has survived its suspect for long enough, and may try another one */
  constructor(clock: Clock, onFree: () => void) {
    this.#clock = clock;
    this.#onFree = onFree;
  }

  /** Whether the replica tries a suspect alone. */
  isTrying(replica: Member): boolean {
    return this.#alone.has(replica);
  }

  /** The suspect that the replica tries alone, or tried alone when it was lost. */
  suspectOn(replica: Member): TriedSuspect | undefined {
    return this.#alone.get(replica)?.suspect;
  }

  /** The replica has got the suspect. It tries no other one for `aloneMs`, or until {@link end}. */
  begin(replica: Member, suspect: TriedSuspect): void {
    const timer = new AbortController();
    this.#alone.set(replica, { suspect, timer });
    void this.#clock.delay(suspect.aloneMs, timer.signal).then(
      () => {
        this.end(replica, suspect);
        this.#onFree();
      },
      () => {}, // the suspect has ended before
    );
  }

  /** The suspect has ended. Does nothing when it has outlived its trial: the replica may try another suspect by now. */
  end(replica: Member, suspect: TriedSuspect): void {
    if (this.#stopTimer(replica, suspect)) this.#alone.delete(replica);
  }

  /**
   * The replica was lost with the suspect. {@link suspectOn} goes on to name it, because other suspects on the replica
   * are told of the loss after this one.
   */
  endByLoss(replica: Member, suspect: TriedSuspect): void {
    this.#stopTimer(replica, suspect);
  }

  /** Returns false when the replica does not try this suspect alone. */
  #stopTimer(replica: Member, suspect: TriedSuspect): boolean {
    const alone = this.#alone.get(replica);
    if (alone?.suspect !== suspect) return false;
    alone.timer.abort();
    return true;
  }
}
