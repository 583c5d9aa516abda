import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageRoot } from '../../base/core/package-root.ts';
import { freePort } from '../../test/helpers/server.ts';
import { killTree, type Subject, treeUsage } from '../plugins/processes.ts';

/** A running Ray Serve that is measured. */
export interface RaySubject extends Subject {
  /** Versions that its program reports. */
  readonly facts: Readonly<Record<string, unknown>>;
}

const START_MS = 180_000;
const STOP_MS = 20_000;

/**
 * Starts Ray Serve from the virtual environment in `venv`. Throws an Error with its last output if it does not start.
 */
export async function startRay(venv: string, env: NodeJS.ProcessEnv): Promise<RaySubject> {
  const folder = await mkdtemp('/tmp/ray-'); // in /tmp, because the paths of its sockets must be short
  const port = await freePort();
  const child = spawn(
    join(venv, 'bin/python'),
    [join(packageRoot, 'host/bench/http/ray_serve.py'), String(port), folder],
    { stdio: ['pipe', 'pipe', 'pipe'], env },
  );
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (words = (words + text).slice(-4000)));
  const failed = once(child, 'error').then(([error]) => Promise.reject(error as Error));
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`Ray Serve exited: ${words}`)));
  const late = sleep(START_MS, undefined, { ref: false }).then(() =>
    Promise.reject(new Error(`Ray Serve did not start: ${words}`)),
  );
  for (const one of [failed, ended, late]) one.catch(() => {});
  const stop = async (): Promise<void> => {
    child.stdin.end();
    if (child.exitCode === null && child.signalCode === null)
      await Promise.race([once(child, 'exit'), sleep(STOP_MS, undefined, { ref: false })]);
    await killTree(child);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const [line] = (await Promise.race([once(createInterface(child.stdout), 'line'), failed, ended, late])) as [string];
    return {
      port,
      pid: child.pid ?? 0,
      facts: JSON.parse(line) as Record<string, unknown>,
      usage: () => treeUsage(child),
      release: () => {},
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
