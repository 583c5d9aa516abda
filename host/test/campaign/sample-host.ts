import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../../base/core/package-root.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { DeploymentManager, type DeploymentOptionsInput } from '../../inference/deployments/index.ts';
import { SampleDeployment } from '../../inference/deployments/fixtures/sample-deployment.ts';
import { Replica } from '../../inference/replicas/process/replica.ts';

/** Limit of a replica's address space, so that a replica that takes memory dies before the machine runs out of it. */
export const ADDRESS_BYTES: number = 4 * 2 ** 30;

/** Returns a host of deployments without models, in this process. */
export function sampleHost(
  deployments: Readonly<Record<string, Omit<DeploymentOptionsInput, 'type'>>>,
): DeploymentManager {
  const manager = new DeploymentManager({
    log: silentLogger,
    env: process.env,
    models: { pull: async (id) => ({ path: `/models/${id}` }) },
    definitions: [SampleDeployment],
    simulated: { spawn: (options) => new Replica({ ...options, addressBytes: ADDRESS_BYTES }) },
  });
  for (const [name, options] of Object.entries(deployments))
    manager.register(name, { type: SampleDeployment.name, ...options });
  return manager;
}

/** Returns the pids of the running processes of a deployment. */
export function pidsOf(manager: DeploymentManager, name: string): number[] {
  const replicas = manager.status()[name]?.replicas ?? [];
  return replicas.flatMap(({ pid, state }) => (pid === undefined || state === 'exited' ? [] : [pid]));
}

/** The module that runs a host in a separate process. */
export const HOST_MODULE: URL = pathToFileURL(join(packageRoot, 'dist/host/test/campaign/host-process.js'));
