import type { Membership } from '../../../base/certificates/index.ts';
import { packageVersion } from '../../../base/core/package-root.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { builtinDefinitions, RoutedDeployments } from '../../../inference/deployments/index.ts';
import { deferred } from '../../../base/core/deferred.ts';
import type { ControlConnection } from './control-connection.ts';
import { lostError } from './lost.ts';

/**
 * Returns the deployments of an application, whose replicas this process then calls directly: on another machine as
 * this member of the cluster. They follow the application until the connection ends; then all calls fail with its
 * error.
 */
export async function routedDeployments(
  connection: ControlConnection,
  membership?: Membership,
): Promise<RoutedDeployments> {
  // Other versions may have other schemas of the same names.
  const isSame = connection.version === packageVersion();
  const builtin = new Map(isSame ? builtinDefinitions.map((definition) => [definition.name, definition]) : []);
  const deployments = new RoutedDeployments({
    ...{ log: silentLogger, membership },
    definitionOf: (type) => builtin.get(type),
  });
  await followDeployments(connection, deployments);
  return deployments;
}

/**
 * Lets deployments follow an application until the connection ends; all calls then fail with its error. Resolves when
 * they have the first table. `onChange` is called after each change.
 */
export async function followDeployments(
  connection: ControlConnection,
  deployments: RoutedDeployments,
  onChange: () => void = () => {},
): Promise<void> {
  const first = deferred();
  const follow = async (): Promise<void> => {
    const changes = connection.stream('deployments.watch', {}, { feed: deployments.reports, holdsProcess: false });
    for await (const batch of changes) {
      for (const change of batch) deployments.take(change);
      onChange();
      first.resolve();
    }
  };
  const close = (): void => deployments.close(connection.ending ?? lostError(connection.address));
  void connection.closed.then(close);
  const followed = follow().catch((error: unknown) => {
    first.reject(error);
    void connection.close(); // without the table, calls would go to replicas that may no longer be there
  });
  const release = connection.hold();
  await Promise.race([first.promise, followed]).finally(release);
}
