import { faultOf, toErrorRecord } from '../../../base/core/errors.ts';

/** Least number of calls from which health is judged. */
export const MIN_SAMPLE = 5;
/** Health checks after which too few calls are forgotten. */
const MAX_CHECKS = 30;

/**
 * Counts successful calls and calls that failed by the fault of the deployment. Other failures, such as mistakes of
 * callers, are not counted.
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

  /**
   * Reason of the last failure. Only the name of an unexpected error, because its message could contain private data.
   */
  get lastReason(): string {
    return this.#lastReason;
  }

  /** Share of failed calls, from 0 to 1; 0 without calls. */
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

  /** Returns the sum of both, with the last reason of `other` if it has one. */
  plus(other: Tally): Tally {
    const sum = new Tally();
    sum.#calls = this.#calls + other.#calls;
    sum.#failed = this.#failed + other.#failed;
    sum.#lastReason = other.#lastReason || this.#lastReason;
    return sum;
  }
}

/**
 * Judges one replica by the outcomes of its calls, at each health check. A replica is unhealthy when most of its calls
 * fail by its own fault, even if it answers health checks.
 */
export class OutcomeHealth {
  #tally = new Tally();
  #checks = 0;

  record(error?: unknown): void {
    this.#tally.add(error);
  }

  /**
   * Returns the health since the last judgement, and resets the counts. Returns undefined and keeps them if there are
   * too few calls.
   */
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
