import { faultOf, toErrorRecord } from '../../core/errors.ts';

/** Calls after which more failures than successes say something. */
export const MIN_SAMPLE = 5;
/** Health checks after which too few calls say nothing any more. */
const MAX_CHECKS = 30;

/**
 * How calls ended: well, or by the fault of the deployment. Other ends, as by a mistake of the caller, say nothing
 * about it.
 */
export class Tally {
  #calls = 0;
  #failed = 0;
  #lastReason = '';

  get calls(): number {
    return this.#calls;
  }

  get failed(): number {
    return this.#failed;
  }

  /** Why the last one failed, without what an unexpected error says, which can have anything in it. */
  get lastReason(): string {
    return this.#lastReason;
  }

  /** From 0 to 1; 0 without calls. */
  get failedShare(): number {
    return this.#calls === 0 ? 0 : this.#failed / this.#calls;
  }

  get isMostlyFailures(): boolean {
    return this.failedShare > 0.5;
  }

  add(error?: unknown): void {
    if (error !== undefined && faultOf(error) !== 'deployment') return;
    this.#calls += 1;
    if (error === undefined) return;
    this.#failed += 1;
    const { name, message, unexpected } = toErrorRecord(error);
    this.#lastReason = unexpected ? name : message;
  }

  /** Both together; the reason is the other one's, if it has any. */
  plus(other: Tally): Tally {
    const sum = new Tally();
    sum.#calls = this.#calls + other.#calls;
    sum.#failed = this.#failed + other.#failed;
    sum.#lastReason = other.#lastReason || this.#lastReason;
    return sum;
  }
}

/**
 * Looks at the outcomes of one replica's calls with each health check. One most of whose calls fail by its own fault is
 * not healthy, although it answers.
 */
export class OutcomeHealth {
  #tally = new Tally();
  #checks = 0;

  record(error?: unknown): void {
    this.#tally.add(error);
  }

  /** Returns undefined for too few calls, and keeps them for the next check. Otherwise the counts start at zero again. */
  check(): { readonly isHealthy: boolean; readonly reason: string } | undefined {
    const { calls, failed, lastReason, isMostlyFailures } = this.#tally;
    this.#checks += 1;
    const isEnough = calls >= MIN_SAMPLE;
    if (isEnough || this.#checks >= MAX_CHECKS) [this.#tally, this.#checks] = [new Tally(), 0];
    if (!isEnough) return undefined;
    return isMostlyFailures
      ? { isHealthy: false, reason: `${failed} of its last ${calls} calls failed by its own fault: ${lastReason}` }
      : { isHealthy: true, reason: '' };
  }
}
