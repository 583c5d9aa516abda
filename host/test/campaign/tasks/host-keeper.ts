import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Deferred, deferred } from '../../../base/core/deferred.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import type { StorageConfig } from '../../../data/storage/index.ts';
import { descendants, isRunning } from '../../helpers/server.ts';
import type { HostMessage, HostOrder } from './protocol.ts';

/** After this many unexpected exits, a host is not started again. */
const MOST_OWN_ENDS = 3;

/** In the command of a plugin's process. */
const PLUGIN_PROGRAM = /\/aana-sandbox (confine|serve) /;
/** The program of a host, below the folder of its package. */
const SCRIPT = 'dist/host/test/campaign/tasks/host.js';

/** Keeps one host running: it starts another process after each kill. */
export class HostKeeper {
  /** Processes that belonged to hosts, with their start times, because pids are reused. */
  readonly #children = new Map<number, string>();
  /** Descriptions of the exits of hosts that were not killed. */
  readonly ownEnds: string[] = [];
  readonly #folder: string;
  readonly #own: string;
  readonly #database: StorageConfig;
  readonly #env: Readonly<Record<string, string>>;
  /** The folder of the package that it runs. */
  #root = packageRoot;
  #child: ChildProcess | undefined;
  #url: Deferred<string> = deferred();
  #current: string | undefined;
  #stopping = false;
  #exited: Promise<unknown> = Promise.resolve();

  constructor(folder: string, index: number, database: StorageConfig, env: Readonly<Record<string, string>> = {}) {
    this.#folder = folder;
    this.#own = join(folder, `host-${index}`);
    this.#database = database;
    this.#env = env;
  }

  /** The URL of the host; undefined while it starts. */
  get url(): string | undefined {
    return this.#current;
  }

  get logFile(): string {
    return `${this.#own}.log`;
  }

  /** Returns how many attempts at tasks all its processes have begun. */
  async begun(): Promise<number> {
    return (await readFile(this.logFile, 'utf8')).split(' task started ').length - 1;
  }

  async start(): Promise<void> {
    this.#stopping = false;
    await mkdir(this.#own, { recursive: true });
    this.#spawn();
  }

  /** Resolves with the URL when the host is ready. */
  ready(): Promise<string> {
    return this.#url.promise;
  }

  /** Kills the host at once. */
  async kill(): Promise<void> {
    const child = this.#child;
    await this.#noteChildren();
    child?.kill('SIGKILL');
    if (child && child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }

  /** Kills a process of one of its plugins, or one of its replicas. Returns false if it has none. */
  async killChild(kind: 'plugin' | 'replica', number: number): Promise<boolean> {
    const children = await this.#noteChildren();
    const pids = children.filter(({ command }) => PLUGIN_PROGRAM.test(command) === (kind === 'plugin'));
    const pid = pids[number % Math.max(1, pids.length)]?.pid;
    if (pid === undefined) return false;
    try {
      process.kill(pid, 'SIGKILL');
      return true;
    } catch {
      return false; // it has just exited
    }
  }

  /** Waits until the host is ready and has carried out the order. One order at a time. */
  async order(order: HostOrder): Promise<void> {
    await this.ready();
    const child = this.#child;
    if (!child) throw new Error('the host has ended');
    const done = once(child, 'message');
    child.send(order);
    await done;
  }

  /** Shuts the host down in good order. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#noteChildren();
    if (this.#child?.connected) this.#child.disconnect();
    await this.#exited;
  }

  /** Stops the host in good order, and starts it from the package in another folder. */
  async replace(root: string): Promise<void> {
    await this.stop();
    this.#root = root;
    await this.start();
    await this.ready();
  }

  /** Returns the processes that should have ended with their host. */
  async orphans(): Promise<number[]> {
    const found: number[] = [];
    for (const [pid, began] of this.#children)
      if (began !== '' && (await isRunning(pid)) && (await beginningOf(pid)) === began) found.push(pid);
    return found;
  }

  #spawn(): void {
    const child = fork(join(this.#root, SCRIPT), [this.#folder, this.#own, this.logFile], {
      env: { ...process.env, ...this.#env, DB_CONFIG: JSON.stringify(this.#database) },
      execArgv: ['--enable-source-maps'],
    });
    this.#child = child;
    child.on('message', (message: HostMessage) => {
      if (!('url' in message)) return;
      this.#current = message.url;
      this.#url.resolve(message.url);
    });
    this.#exited = new Promise<void>((resolve) => {
      child.once('exit', (code, signal) => {
        if (this.#current !== undefined) this.#url = deferred(); // otherwise callers still wait for this one
        this.#current = undefined;
        const isAsked = signal === 'SIGKILL' || (this.#stopping && code === 0);
        if (!isAsked)
          this.ownEnds.push(`a host exited unexpectedly with ${code ?? signal}; its log is ${this.logFile}`);
        if (this.ownEnds.length >= MOST_OWN_ENDS) this.#url.reject(new Error(this.ownEnds.join('; ')));
        else if (!this.#stopping) this.#spawn();
        resolve();
      });
    });
  }

  async #noteChildren(): Promise<{ readonly pid: number; readonly command: string }[]> {
    const children = this.#child?.pid === undefined ? [] : await descendants(this.#child.pid);
    for (const { pid } of children) this.#children.set(pid, await beginningOf(pid));
    return children;
  }
}

/** Returns when a process started, in ticks since the boot of the machine (Linux). Empty if it does not exist. */
async function beginningOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}
