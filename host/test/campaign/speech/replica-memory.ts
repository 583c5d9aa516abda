import { readFile } from 'node:fs/promises';
import type { DeploymentManager } from '../../../inference/deployments/index.ts';

/** Returns the process id of the only replica of the deployment `model`. */
export function replicaPid(manager: DeploymentManager): number {
  const pid = manager.status()['model']?.replicas[0]?.pid;
  if (pid === undefined) throw new Error('the deployment has no replica');
  return pid;
}

/** Returns the bytes of a process that are in memory. Needs /proc. */
export async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
