import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { descendants } from '../test/helpers/server.ts';
import { killTree, treeUsage } from './plugins/processes.ts';

/** A server that is measured, with all processes that it starts. */
export interface ServerProcess extends AsyncDisposable {
  readonly port: number;
  /** Returns the milliseconds of CPU time of all its processes so far. */
  cpuMs(): Promise<number>;
  /** Returns the megabytes of memory of all its processes. Memory that several of them share counts once. */
  memoryMb(): Promise<number>;
}

const START_TIMEOUT_MS = 120_000;

/** Starts a script that calls `served`. */
export async function startScript(script: URL, env: NodeJS.ProcessEnv): Promise<ServerProcess> {
  const path = fileURLToPath(script);
  const child = spawn(process.execPath, [path], {
    stdio: ['ignore', 'ignore', process.env['BENCH_STDERR'] ? 'inherit' : 'ignore', 'ipc'],
    env: { ...process.env, ...env },
  });
  endWithUs(child);
  const port = await new Promise<number>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${basename(path)} exited with ${code}`)));
    child.on('message', (message: { readonly type: string; readonly port: number }) => {
      if (message.type === 'listening') resolve(message.port);
    });
  });
  return serverProcess(child, port);
}

/** Starts a program that listens at `port`. Resolves when it answers `/health` with 200. */
export async function startProgram(
  path: string,
  flags: readonly string[],
  port: number,
  env: NodeJS.ProcessEnv = {},
): Promise<ServerProcess> {
  const child = spawn(path, flags, {
    stdio: ['ignore', 'ignore', process.env['BENCH_STDERR'] ? 'inherit' : 'ignore'],
    env: { ...process.env, ...env },
  });
  endWithUs(child);
  child.on('error', () => {}); // `exitCode` tells it below
  const server = serverProcess(child, port);
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await isHealthy(port))) {
    if (Date.now() > deadline || child.pid === undefined || child.exitCode !== null) {
      await server[Symbol.asyncDispose]();
      throw new Error(`${path} did not start; with BENCH_STDERR=1 its output is shown`);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return server;
}

function serverProcess(child: ChildProcess, port: number): ServerProcess {
  return {
    port,
    cpuMs: async () => (await treeUsage(child)).cpuMicroseconds / 1000,
    memoryMb: async () => {
      const pids = [child.pid ?? 0, ...(await descendants(child.pid ?? 0)).map(({ pid }) => pid)];
      const each = await Promise.all(pids.map((pid) => memoryMb(pid).catch(() => 0))); // a process may have ended
      return each.reduce((total, one) => total + one, 0);
    },
    [Symbol.asyncDispose]: async () => {
      running.delete(child);
      if (child.pid !== undefined) await killTree(child);
    },
  };
}

const running = new Set<ChildProcess>();
let isWatching = false;

/** Ends the server with the benchmark, also when the benchmark is interrupted. */
function endWithUs(child: ChildProcess): void {
  running.add(child);
  if (isWatching) return;
  isWatching = true;
  process.once('exit', () => {
    for (const one of running) one.kill('SIGKILL');
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
}

/** Returns the megabytes of a process: its private memory and its share of shared memory (Linux). */
export async function memoryMb(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]) / 1024;
}

async function isHealthy(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health`)).ok;
  } catch {
    return false;
  }
}
