import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { isAlive, until } from '../../inference/replicas/fixtures/sample-sets.ts';
import { HOST_MODULE } from './sample-host.ts';

export const MOMENTS = ['at rest', 'while it starts', 'during an update'] as const;
export type Moment = (typeof MOMENTS)[number];

export const ENDS = [
  'SIGKILL',
  'SIGTERM',
  'SIGTERM, in good order',
  'SIGTERM to its group',
  'uncaught exception',
  'abort',
  'exit',
] as const;
export type End = (typeof ENDS)[number];

/** Ends a host in a separate process and waits until its replicas are gone. Returns the number of replicas. */
export async function endHost(moment: Moment, end: End): Promise<number> {
  const host = spawn(process.execPath, [fileURLToPath(HOST_MODULE), moment, end], {
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  const exited = once(host, 'exit');
  try {
    if (!host.stdout) throw new Error('the host has no output');
    const [line] = (await Promise.race([once(createInterface(host.stdout), 'line'), exited.then(() => ['[]'])])) as [
      string,
    ];
    const pids = JSON.parse(line) as number[];
    if (end === 'SIGTERM to its group') process.kill(-(host.pid ?? 0), 'SIGTERM'); // the group includes its replicas
    else if (end.startsWith('SIG')) host.kill(end === 'SIGKILL' ? 'SIGKILL' : 'SIGTERM');
    await exited;
    await until(() => !pids.some(isAlive), 'the replicas were gone');
    return pids.length;
  } finally {
    host.kill('SIGKILL');
  }
}
