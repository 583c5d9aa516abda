import { AanaError } from '../../core/errors.ts';

/** Too many calls wait already. `retryAfterS`: seconds after which the caller finds a place. */
export function deploymentFull(deployment: string, maxQueued: number, retryAfterS: number): AanaError {
  return new AanaError(
    'DeploymentFull',
    'unavailable',
    `deployment ${deployment} is full: ${maxQueued} calls are waiting already; try again in ${retryAfterS} s`,
    {
      data: { deployment, max_queued_requests: maxQueued, retry_after_s: retryAfterS },
    },
  );
}

/** Times are in milliseconds. */
export interface TooLate {
  /** The calls before this one take so long. */
  readonly waitMs: number;
  /** This call takes so long. */
  readonly serviceMs: number;
  /** The caller waits for so long. */
  readonly leftMs: number;
  /** Seconds after which the caller finds a place. */
  readonly retryAfterS: number;
}

/** The call cannot be answered before its deadline. */
export function deploymentOverloaded(
  deployment: string,
  { waitMs, serviceMs, leftMs, retryAfterS }: TooLate,
): AanaError {
  const why = `the calls before this one take about ${text(waitMs)}, this one about ${text(serviceMs)}, and ${text(Math.max(0, leftMs))} are left`;
  return new AanaError(
    'DeploymentOverloaded',
    'unavailable',
    `deployment ${deployment} cannot answer in time: ${why}; try again in ${retryAfterS} s`,
    {
      data: { deployment, estimated_wait_s: Math.round(waitMs) / 1000, retry_after_s: retryAfterS },
    },
  );
}

const text = (ms: number): string => (ms < 100 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
