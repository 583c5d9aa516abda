import { type AanaError, fail } from '../../../base/core/errors.ts';

/**
 * Returns the error for a full queue. `retryAfterS` is the number of seconds after which there is room for the caller.
 */
export function deploymentFull(deployment: string, maxQueued: number, retryAfterS: number): AanaError {
  return fail(
    'DeploymentFull',
    `deployment ${deployment} is full: ${maxQueued} calls are already waiting; try again in ${retryAfterS} s`,
    {
      data: { deployment, max_queued_requests: maxQueued, retry_after_s: retryAfterS },
    },
  );
}

/** Times are in milliseconds. */
export interface TooLate {
  /** Time that the calls before this one take. */
  readonly waitMs: number;
  /** Time that this call takes. */
  readonly serviceMs: number;
  /** Time until the caller's deadline. */
  readonly leftMs: number;
  /** Seconds after which there is room for the caller. */
  readonly retryAfterS: number;
}

/** Returns the error for a call that cannot be answered before its deadline. */
export function deploymentOverloaded(
  deployment: string,
  { waitMs, serviceMs, leftMs, retryAfterS }: TooLate,
): AanaError {
  const why =
    `the calls before this one take about ${text(waitMs)}, this one about ${text(serviceMs)}, and ` +
    `${text(Math.max(0, leftMs))} are left`;
  return fail(
    'DeploymentOverloaded',
    `deployment ${deployment} cannot answer in time: ${why}; try again in ${retryAfterS} s`,
    {
      data: { deployment, estimated_wait_s: Math.round(waitMs) / 1000, retry_after_s: retryAfterS },
    },
  );
}

const text = (ms: number): string => (ms < 100 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
