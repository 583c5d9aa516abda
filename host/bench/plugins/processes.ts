import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { descendants, freePort } from '../../test/helpers/server.ts';
import type { FromServer, LoadJob, LoadResult, ToServer, Usage } from './protocol.ts';

/** A server that is measured, in a separate process. */
export interface Subject extends AsyncDisposable {
  readonly port: number;
  /** The pid of the process that was started. */
  readonly pid: number;
  usage(): Promise<Usage>;
  /** Lets held calls continue. */
  release(): void;
}

const script = (name: string): string => fileURLToPath(new URL(`./${name}.js`, import.meta.url));

/** Starts a server of this folder with the Node at `node`. */
export async function startServer(
  node: string,
  name: string,
  env: NodeJS.ProcessEnv,
  flags: readonly string[] = [],
): Promise<Subject> {
  const child = spawn(node, [...flags, script(name)], {
    stdio: ['ignore', 'ignore', process.env['BENCH_STDERR'] ? 'inherit' : 'ignore', 'ipc'],
    env,
  });
  const next = async (type: FromServer['type']): Promise<FromServer> => {
    for (;;) {
      const message = await messageOf<FromServer>(child, name);
      if (message.type === type) return message;
    }
  };
  const { port } = (await next('listening')) as FromServer & { type: 'listening' };
  const send = (message: ToServer): unknown => child.send(message);
  return {
    port,
    pid: child.pid ?? 0,
    usage: async () => {
      const told = next('usage');
      send('usage');
      return (await told) as FromServer & { type: 'usage' };
    },
    release: () => void send('release'),
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, 'exit');
      send('stop');
      const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
      await exited;
      clearTimeout(timer);
    },
  };
}

/** Starts `jco serve` on a component. Its usage is read from /proc, because it starts a further process. */
export async function startJco(node: string, jco: string, component: string, env: NodeJS.ProcessEnv): Promise<Subject> {
  const port = await freePort();
  const child = spawn(node, [jco, 'serve', component, '--port', String(port), '--host', '127.0.0.1'], {
    stdio: 'ignore',
    env,
  });
  const stop = (): Promise<void> => killTree(child);
  const deadline = Date.now() + 120_000;
  while (!(await answers(port))) {
    if (Date.now() > deadline || child.exitCode !== null) {
      await stop();
      throw new Error('jco serve did not start');
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return {
    port,
    pid: child.pid ?? 0,
    usage: () => treeUsage(child),
    release: () => {},
    [Symbol.asyncDispose]: stop,
  };
}

const treeOf = async ({ pid = 0 }: ChildProcess): Promise<number[]> => [
  pid,
  ...(await descendants(pid)).map((one) => one.pid),
];

/** Returns the usage of a process and its descendants, also of ended ones, from /proc. */
export async function treeUsage(child: ChildProcess): Promise<Usage> {
  const stats = await Promise.all(
    (await treeOf(child)).map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')),
  );
  const fields = stats.map((stat) => stat.slice(stat.lastIndexOf(') ') + 2).split(' '));
  const sum = (...at: number[]): number =>
    fields.reduce((total, one) => total + at.reduce((part, n) => part + Number(one[n] ?? 0), 0), 0);
  const cpuMicroseconds = sum(11, 12, 13, 14) * 10_000;
  return { cpuMicroseconds, sandboxCpuMicroseconds: 0, rssBytes: sum(21) * 4096, waiting: 0 };
}

/** Kills a process and its descendants. */
export async function killTree(child: ChildProcess): Promise<void> {
  const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
  for (const pid of (await treeOf(child)).toReversed()) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {} // it has ended with its parent
  }
  await exited;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** The process that makes the load. It always runs on this Node. */
export class LoadProcess implements Disposable {
  readonly #child = spawn(process.execPath, [script('load')], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });

  async run(job: LoadJob): Promise<LoadResult> {
    const result = messageOf<LoadResult>(this.#child, 'load');
    this.#child.send(job);
    return result;
  }

  [Symbol.dispose](): void {
    this.#child.disconnect();
  }
}

function messageOf<T>(child: ChildProcess, name: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`${name} exited with ${code}`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message as T);
    });
  });
}
