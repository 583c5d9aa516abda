import { type AanaError, fail } from '../../../base/core/errors.ts';
import type { ReplicaVersion } from './replica-version.ts';

/**
 * Returns the error for a deployment that has failed and will not recover by itself. `lastLines` are the last lines of
 * a process.
 */
export function failedDeployment(deployment: string, reason: string, lastLines: readonly string[] = []): AanaError {
  return fail('FailedDeployment', `deployment ${deployment} failed: ${reason}`, {
    data: { deployment, last_lines: lastLines },
  });
}

/** Returns the error for a deployment that has no replica now. The next start is in `waitMs` milliseconds. */
export function deploymentUnavailable(deployment: string, reason: string, waitMs: number): AanaError {
  const waitS = Math.max(1, Math.ceil(waitMs / 1000));
  return fail(
    'DeploymentUnavailable',
    `deployment ${deployment} has no replica now, because replicas fail to start: ${reason}; try again in ${waitS} s`,
    {
      data: { deployment, retry_after_s: waitS },
    },
  );
}

/** Returns the error for other hosts when none of the ready replicas could make its socket. */
export function notListening(deployment: string): AanaError {
  return fail(
    'DeploymentUnavailable',
    `the replicas of deployment ${deployment} cannot be reached by other processes, because they could not listen in ` +
      `the application's runtime_dir or at its cluster.listen; its log says why`,
    { data: { deployment, retry_after_s: 60 } },
  );
}

/** Returns the error that there is no room for `count` replicas, with demand and supply if the version has places. */
export function noRoom(deployment: string, { places }: ReplicaVersion, count: number): AanaError {
  return (
    places?.noRoom(count) ??
    fail(
      'InsufficientResources',
      `there is no room for a replica of deployment ${deployment} on the devices of this machine; try again later`,
      { data: { deployment } },
    )
  );
}
