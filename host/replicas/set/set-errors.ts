import { AanaError } from '../../core/errors.ts';
import type { ReplicaVersion } from './replica-version.ts';

/** A deployment that does not run and will not come back by itself. `lastLines`: what its process wrote last. */
export function failedDeployment(deployment: string, reason: string, lastLines: readonly string[] = []): AanaError {
  return new AanaError('FailedDeployment', 'unavailable', `deployment ${deployment} failed: ${reason}`, {
    data: { deployment, last_lines: lastLines },
  });
}

/** A deployment without a replica now. The next start is tried in `waitMs` milliseconds. */
export function deploymentUnavailable(deployment: string, reason: string, waitMs: number): AanaError {
  const waitS = Math.max(1, Math.ceil(waitMs / 1000));
  return new AanaError(
    'DeploymentUnavailable',
    'unavailable',
    `deployment ${deployment} has no replica now, because they do not start: ${reason}; try again in ${waitS} s`,
    {
      data: { deployment, retry_after_s: waitS },
    },
  );
}

/** There is no room for `count` replicas. Names demand and supply where the version has places. */
export function noRoom(deployment: string, { places }: ReplicaVersion, count: number): AanaError {
  return (
    places?.noRoom(count) ??
    new AanaError(
      'InsufficientResources',
      'unavailable',
      `there is no room for a replica of deployment ${deployment} on the devices of this machine; try again later`,
      { data: { deployment } },
    )
  );
}
