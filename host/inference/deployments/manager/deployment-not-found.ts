import { type AanaError, fail } from '../../../base/core/errors.ts';

/** Returns the error that no deployment has a name, with the names that there are. */
export function deploymentNotFound(deployment: string, names: Iterable<string>): AanaError {
  const known = [...names].join(', ') || 'none';
  return fail('DeploymentNotFound', `there is no deployment ${deployment}; deployments are: ${known}`, {
    data: { deployment },
  });
}
