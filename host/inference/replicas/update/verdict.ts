import { MIN_SAMPLE, Tally } from '../process/outcomes.ts';
import type { Member } from '../set/fleet.ts';

/** Returns the outcomes of all calls on these replicas. */
export function tallyOf(members: readonly Member[]): Tally {
  return members.reduce((sum, { tally }) => sum.plus(tally), new Tally());
}

/**
 * Returns the reason for a rollback: most calls on the new replicas fail by their own fault, and a larger share than on
 * the old ones. When the watch ends with few calls, all of them must have failed. The old replicas count only with
 * enough calls.
 */
export function faultOf(members: readonly Member[], old: readonly Member[], isLast: boolean): string | undefined {
  const tally = tallyOf(members);
  const { calls, failed, lastReason } = tally;
  const isEnough = calls >= MIN_SAMPLE || (isLast && failed === calls);
  if (!isEnough || !tally.isMostlyFailures) return undefined;
  const before = tallyOf(old);
  if (before.calls >= MIN_SAMPLE && before.failedShare >= tally.failedShare) return undefined;
  return `${failed} of ${calls} calls of the new version failed by its own fault; the last time ${lastReason}`;
}

/**
 * Returns whether there are calls, but too few have ended on the new replicas to judge them. `hasCalls`: calls have
 * ended on either version since the watch began.
 */
export function isUndecided(members: readonly Member[], hasCalls: boolean): boolean {
  const { calls, failed } = tallyOf(members);
  return calls < MIN_SAMPLE && (failed > 0 || hasCalls || members.some(({ slot }) => (slot.replica?.ongoing ?? 0) > 0));
}
