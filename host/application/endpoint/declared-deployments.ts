import { fail } from '../../base/core/errors.ts';
import type { ServedEndpoint } from '../../endpoints/registry/index.ts';

/** Throws `EndpointError` when the endpoint declares a deployment that is not among the registered ones. */
export function requireDeclaredDeployments(
  { name, deployments = [] }: Pick<ServedEndpoint, 'name' | 'deployments'>,
  registered: Iterable<string>,
): void {
  const known = [...registered];
  const missing = deployments.find((deployment) => !known.includes(deployment));
  if (missing === undefined) return;
  throw fail(
    'EndpointError',
    `endpoint ${name}: deployments: there is no deployment ${missing}; register it before the endpoint is served, ` +
      `or correct the name; deployments are: ${known.join(', ') || 'none'}`,
  );
}
