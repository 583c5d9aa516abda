import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AanaError } from '../../base/core/errors.ts';
import type { DeploymentManager } from '../../inference/deployments/index.ts';
import { until } from '../../inference/replicas/fixtures/sample-sets.ts';
import { Load, type LoadResult } from './load.ts';
import { pidsOf, sampleHost } from './sample-host.ts';

const NAME = 'one';
/** Much longer than the grace period. */
const LONG_MS = 1200;
const GRACE_S = 0.05;

const isWhole = (manager: DeploymentManager, replicas: number): boolean => {
  const status = manager.status()[NAME];
  return (
    status?.status === 'RUNNING' &&
    status.replicas.length === replicas &&
    status.replicas.every(({ state }) => state === 'ready')
  );
};
const restartsOf = (manager: DeploymentManager): number =>
  manager.status()[NAME]?.replicas.reduce((sum, { restarts }) => sum + restarts, 0) ?? 0;

export interface HardCallsResult {
  readonly load: LoadResult;
  /** Differences from the expected behaviour. */
  readonly wrong: readonly string[];
}

/**
 * Makes calls that take much longer than the grace period, while the deployment is updated and scaled down and up
 * `times` times.
 */
export async function longCalls(times: number): Promise<HardCallsResult> {
  const options = (version: number, replicas: number): object => ({
    num_replicas: replicas,
    graceful_shutdown_timeout_s: GRACE_S,
    user_config: { model: `version-${version}` },
  });
  const manager = sampleHost({ [NAME]: options(0, 2) });
  const load: LoadResult = { answered: 0, cut: 0, failed: new Map() };
  let isOver = false;
  const caller = async (id: number): Promise<void> => {
    for (let turn = 0; !isOver; turn += 1) {
      const ms = LONG_MS + id * 100 + turn;
      const answer = await manager
        .handle(NAME)
        .call('wait', { ms })
        .catch((error: unknown) => (error instanceof AanaError ? error.name : String(error)));
      if (answer === ms) load.answered += 1;
      else load.failed.set(String(answer), (load.failed.get(String(answer)) ?? 0) + 1);
    }
  };
  const wrong: string[] = [];
  try {
    await manager.start();
    const callers = Promise.all([0, 1, 2, 3].map(caller));
    for (let round = 1; round <= times; round += 1) {
      const { outcome, reason } = await manager.update(
        NAME,
        { type: 'SampleDeployment', ...options(round, 2) },
        { watchS: 0.2 },
      );
      if (outcome !== 'updated') wrong.push(`update ${round}: ${outcome}, ${reason}`);
      await manager.scale(NAME, 1);
      await manager.scale(NAME, 2);
    }
    isOver = true;
    await callers;
    await until(() => isWhole(manager, 2), 'the surplus replicas were gone');
    return { load, wrong };
  } finally {
    isOver = true;
    await manager.shutdown({ graceMs: 0 });
  }
}

/** Kills one of two replicas under load `times` times. Its restart is refused for a while. */
export async function refusedRestarts(times: number): Promise<HardCallsResult> {
  const folder = mkdtempSync(join(tmpdir(), 'aana-campaign-'));
  const file = join(folder, 'trouble');
  const manager = sampleHost({ [NAME]: { num_replicas: 2, user_config: { refuseWhile: file } } });
  const wrong: string[] = [];
  try {
    await manager.start();
    const load = new Load(manager, NAME);
    for (let round = 1; round <= times; round += 1) {
      const before = restartsOf(manager);
      writeFileSync(file, '');
      process.kill(pidsOf(manager, NAME)[0] ?? 0, 'SIGKILL');
      await until(
        () => restartsOf(manager) >= before + 2 || manager.status()[NAME]?.status === 'DEPLOY_FAILED',
        'a restart was refused',
      );
      if (manager.status()[NAME]?.status !== 'UNHEALTHY')
        wrong.push(`round ${round}: ${manager.status()[NAME]?.status}`);
      rmSync(file);
      await until(() => isWhole(manager, 2), 'a restart was not refused');
    }
    return { load: await load.stop(), wrong };
  } finally {
    await manager.shutdown({ graceMs: 0 });
    rmSync(folder, { recursive: true });
  }
}

/**
 * Makes `times` poisonous calls, each four times, beside a load. A call of the load that was on both replicas is not
 * repeated again, because it may be the cause. Both wait for a random time, so this happens now and then.
 */
export async function poisonousCalls(times: number): Promise<HardCallsResult> {
  const manager = sampleHost({ [NAME]: { num_replicas: 4 } });
  const wrong: string[] = [];
  try {
    await manager.start();
    const load = new Load(manager, NAME);
    for (let round = 1; round <= times; round += 1) {
      const before = restartsOf(manager);
      for (let asked = 1; asked <= 4; asked += 1) {
        const answer = await manager
          .handle(NAME)
          .call('crash', { id: round })
          .catch((error: unknown) => (error instanceof AanaError ? error.name : String(error)));
        if (answer !== 'PoisonousCallError') wrong.push(`poison ${round}, call ${asked}: ${String(answer)}`);
      }
      await until(() => isWhole(manager, 4), 'the replicas were replaced');
      const lost = restartsOf(manager) - before;
      if (lost !== 2) wrong.push(`poison ${round} took ${lost} replicas`);
    }
    const result = await load.stop();
    if ((result.failed.get('ReplicaLostError') ?? 0) <= 2 * times) result.failed.delete('ReplicaLostError');
    return { load: result, wrong };
  } finally {
    await manager.shutdown({ graceMs: 0 });
  }
}
