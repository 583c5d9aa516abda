import type { Clock } from '../../../base/core/clock.ts';

/** A suspect that a replica tries without other suspects. */
export interface TriedSuspect {
  /**
   * Milliseconds for which its replica tries no other suspect. After that the call has outlived the previous loss, and
   * a longer trial would only delay other suspects.
   */
  readonly aloneMs: number;
}

/**
 * Records which suspect each replica tries alone. The pool reads it to choose a replica for a suspect, and to find the
 * suspect to blame when a replica is lost.
 */
export class Trials<Member extends object> {
  readonly #clock: Clock;
  readonly #onFree: () => void;
  readonly #alone = new WeakMap<Member, { readonly suspect: TriedSuspect; readonly timer: AbortController }>();

  /** @param onFree called when a replica has survived its suspect for `aloneMs` and may try another one */
  constructor(clock: Clock, onFree: () => void) {
    this.#clock = clock;
    this.#onFree = onFree;
  }

  /** Returns whether the replica tries a suspect alone. */
  isTrying(replica: Member): boolean {
    return this.#alone.has(replica);
  }

  /** Returns the suspect that the replica tries alone, or tried alone when it was lost. */
  suspectOn(replica: Member): TriedSuspect | undefined {
    return this.#alone.get(replica)?.suspect;
  }

  /** Begins a trial on the replica. It tries no other suspect for `aloneMs`, or until {@link end}. */
  begin(replica: Member, suspect: TriedSuspect): void {
    const timer = new AbortController();
    this.#alone.set(replica, { suspect, timer });
    void this.#clock.delay(suspect.aloneMs, timer.signal).then(
      () => {
        this.end(replica, suspect);
        this.#onFree();
      },
      () => {}, // the suspect has already ended
    );
  }

  /**
   * Called when the suspect has ended. Does nothing after its trial, because the replica may be trying another suspect.
   */
  end(replica: Member, suspect: TriedSuspect): void {
    if (this.#stopTimer(replica, suspect)) this.#alone.delete(replica);
  }

  /**
   * Called when the replica was lost with the suspect. {@link suspectOn} still returns it, because other suspects on
   * the replica learn of the loss later.
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
