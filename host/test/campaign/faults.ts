import { delay } from '../../base/core/abort.ts';
import { until } from '../../inference/replicas/fixtures/sample-sets.ts';
import { Load, type LoadResult } from './load.ts';
import { pidsOf, sampleHost } from './sample-host.ts';

/**
 * The faults of a replica by name, with the signal of each. On SIGUSR2 the sample deployment takes memory until it
 * dies.
 */
export const FAULTS = {
  SIGSEGV: 'SIGSEGV',
  SIGKILL: 'SIGKILL',
  SIGSTOP: 'SIGSTOP',
  'out of memory': 'SIGUSR2',
} as const;
export type Fault = keyof typeof FAULTS;

export interface FaultResult {
  readonly struck: LoadResult;
  /** The load on a deployment beside the struck one. */
  readonly bystander: LoadResult;
  /** Number of processes of the struck deployment that were replaced. */
  readonly replaced: number;
}

/**
 * Strikes one of two replicas under load, `times` times. After each strike it waits until the deployment is whole
 * again.
 */
export async function strike(fault: Fault, times: number): Promise<FaultResult> {
  const manager = sampleHost({
    struck: { num_replicas: 2, max_queued_requests: 100, health_check_period_s: 0.25, health_check_timeout_s: 3 },
    bystander: {},
  });
  const seen = new Set<number>();
  try {
    await manager.start();
    const loads = [new Load(manager, 'struck'), new Load(manager, 'bystander')] as const;
    for (let round = 0; round < times; round += 1) {
      const pids = pidsOf(manager, 'struck');
      const [pid = 0] = pids;
      for (const each of pids) seen.add(each);
      await delay(50);
      process.kill(pid, FAULTS[fault]);
      const isWhole = (): boolean => {
        const status = manager.status()['struck'];
        return (
          status?.status === 'RUNNING' &&
          status.replicas.every(({ state, pid: now }) => state === 'ready' && now !== pid)
        );
      };
      await until(isWhole, `the replica struck by ${fault} was replaced`);
    }
    const [struck, bystander] = await Promise.all(loads.map((load) => load.stop()));
    if (!struck || !bystander) throw new Error('a load has no result');
    const replaced = new Set([...seen, ...pidsOf(manager, 'struck')]).size - 2;
    return { struck, bystander, replaced };
  } finally {
    await manager.shutdown({ graceMs: 0 });
  }
}
