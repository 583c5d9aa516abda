import { readFile } from 'node:fs/promises';
import type { ReplicaSetStatus, ReplicaStatus } from '../../inference/replicas/index.ts';
import type { DeploymentReport, ReplicaReport } from '../../apis/http/index.ts';

type SetStatus = Pick<ReplicaSetStatus, 'status' | 'message' | 'queued' | 'replicas' | 'updating'>;

/** Returns facts about the deployments of an application in the form that commands print. */
export function deploymentReports(deployments: Readonly<Record<string, SetStatus>>): Promise<DeploymentReport[]> {
  const report = async ([name, { status, message, queued, replicas, updating }]: [
    string,
    SetStatus,
  ]): Promise<DeploymentReport> => ({
    name,
    status,
    message,
    queued,
    updating: updating ?? null,
    replicas: await Promise.all(replicas.map(replicaReport)),
  });
  return Promise.all(Object.entries(deployments).map(report));
}

async function replicaReport({
  name,
  state,
  pid,
  device,
  shares,
  ongoing,
  restarts,
  models,
  failure,
  loading,
}: ReplicaStatus): Promise<ReplicaReport> {
  return {
    name,
    state,
    pid: pid ?? null,
    device,
    shares,
    ongoing,
    restarts,
    models,
    memory_bytes: pid === undefined ? null : await residentBytes(pid),
    message: failure || loadingText(loading),
  };
}

function loadingText(loading: ReplicaStatus['loading']): string {
  if (!loading) return '';
  return loading.fraction === undefined ? loading.text : `${loading.text} ${Math.floor(loading.fraction * 100)} %`;
}

/**
 * Returns the main memory of a process, including mapped files. Null when there is no /proc or the process has ended.
 */
async function residentBytes(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  return kib === undefined ? null : Number(kib) * 1024;
}
