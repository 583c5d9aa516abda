import type { DeploymentOptionsInput } from '../../inference/deployments/index.ts';
import { Load, type LoadResult } from './load.ts';
import { pidsOf, sampleHost } from './sample-host.ts';

/** The defects of bad versions. */
const BAD = ['reject', 'exit', 'cold', 'mayfly', 'throw-later'] as const;

export interface UpdatesResult {
  readonly load: LoadResult;
  readonly updated: number;
  readonly rolledBack: number;
  /** Updates with an unexpected outcome. */
  readonly wrong: readonly string[];
  /** Number of processes at the end. */
  readonly processes: number;
}

/** Makes `times` good updates and as many bad ones, in turn, of two replicas under load. */
export async function updateUnderLoad(times: number): Promise<UpdatesResult> {
  const options = (version: number, start?: string): DeploymentOptionsInput => ({
    type: 'SampleDeployment',
    num_replicas: 2,
    user_config: { model: `version-${version}`, ...(start !== undefined && { start }) },
  });
  const manager = sampleHost({});
  manager.register('changing', options(0));
  const wrong: string[] = [];
  let [updated, rolledBack] = [0, 0];
  try {
    await manager.start();
    const load = new Load(manager, 'changing');
    for (let round = 1; round <= times; round += 1) {
      const good = await manager.update('changing', options(round), { watchS: 0.2 });
      if (good.outcome === 'updated') updated += 1;
      else wrong.push(`good ${round}: ${good.outcome}, ${good.reason}`);
      const kind = BAD[round % BAD.length] ?? 'reject';
      const bad = await manager.update('changing', options(-round, kind), { watchS: 1 });
      if (bad.outcome === 'rolled-back' && bad.reason !== '') rolledBack += 1;
      else wrong.push(`bad ${round} (${kind}): ${bad.outcome}`);
      const spec = (await manager.handle('changing').call('spec', {})) as { readonly path: string };
      if (spec.path !== `/models/version-${round}`) wrong.push(`after bad ${round} (${kind}): ${spec.path} is served`);
    }
    return { load: await load.stop(), updated, rolledBack, wrong, processes: pidsOf(manager, 'changing').length };
  } finally {
    await manager.shutdown({ graceMs: 0 });
  }
}
