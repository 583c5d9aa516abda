import type { AppStatus } from '../../apis/http/index.ts';
import type { ReplicaSetStatus } from '../../inference/replicas/index.ts';
import type { Phase } from './lifecycle.ts';

type Entry = AppStatus['deployments'][string];

const PHASES: Readonly<Record<Phase, Entry['status']>> = {
  new: 'NOT_STARTED',
  deploying: 'DEPLOYING',
  deployed: 'RUNNING',
  failed: 'DEPLOY_FAILED',
  stopping: 'DELETING',
};
const BAD = ['DEPLOY_FAILED', 'UNHEALTHY', 'NOT_STARTED'];

/**
 * Returns the state of the application and of each deployment, with the names of the original SDK. `failure` is the
 * reason of a failed start.
 */
export function appStatus(
  phase: Phase,
  deployments: Readonly<Record<string, Pick<ReplicaSetStatus, 'status' | 'message'>>>,
  failure: string,
): AppStatus {
  const isToldBelow = Object.values(deployments).some(({ status }) => status === 'DEPLOY_FAILED');
  const entries: Record<string, Entry> = { app: { status: PHASES[phase], message: isToldBelow ? '' : failure } };
  for (const [name, { status, message }] of Object.entries(deployments)) {
    entries[name] = {
      status: phase === 'new' && status === 'DEPLOYING' ? 'NOT_STARTED' : status === 'STOPPED' ? 'DELETING' : status,
      message,
    };
  }
  const bad = Object.entries(entries).filter(([, { status }]) => BAD.includes(status));
  if (bad.length > 0)
    return {
      status: 'UNHEALTHY',
      message: bad.map(([name, entry]) => `Error: ${name} (${entry.status}): ${entry.message}`).join('\n'),
      deployments: entries,
    };
  const isRunning = Object.values(entries).every(({ status }) => status === 'RUNNING' || status === 'UNLOADED');
  return { status: isRunning ? 'RUNNING' : 'DEPLOYING', message: '', deployments: entries };
}

/** Returns a line for the application and one for each deployment, with name, state and reason. */
export function statusReport({ status, deployments: { app, ...deployments } }: AppStatus, name: string): string {
  const rows = [
    [name, status === 'RUNNING' ? status : (app?.status ?? status), app?.message ?? ''],
    ...Object.entries(deployments).map(([key, entry]) => [`  ${key}`, entry.status, entry.message]),
  ];
  const width = Math.max(...rows.map(([first = '']) => first.length));
  return rows
    .map(
      ([first = '', state = '', message = '']) =>
        `${first.padEnd(width)}  ${state}${message === '' ? '' : `: ${message.replaceAll('\n', ' ')}`}\n`,
    )
    .join('');
}
