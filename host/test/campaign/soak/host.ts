import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../../base/core/package-root.ts';
import { descendants, freePort, isRunning, TEST_DEPLOYMENTS, until } from '../../helpers/server.ts';
import { BENCH_PLUGIN } from '../tasks/protocol.ts';
import type { Memory } from './probe.ts';

const TOKEN = 'token-of-the-soak';
/** Idle connections are closed soon, so that a rest shows which descriptors are left over. */
const KEEP_ALIVE_S = 1;

/** `aana-host serve` in a process of its own, whose memory, descriptors, files and children can be read. */
export class SoakHost implements AsyncDisposable {
  readonly url: string;
  readonly #folder: string;
  readonly #child: ChildProcess;
  readonly #dashboard: string;

  private constructor(folder: string, port: number, dashboardPort: number) {
    this.url = `http://127.0.0.1:${port}`;
    this.#folder = folder;
    this.#dashboard = `http://127.0.0.1:${dashboardPort}`;
    const flags = ['--config', join(folder, 'config.json'), '--port', String(port)];
    this.#child = spawn(
      process.execPath,
      [
        '--expose-gc',
        '--import',
        new URL('probe.js', import.meta.url).href,
        join(packageRoot, 'bundle/host/cli/main.js'),
        ...['serve', join(packageRoot, 'plugins'), BENCH_PLUGIN, ...flags],
      ],
      {
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
        cwd: folder,
        env: {
          ...process.env,
          TMPDIR: join(folder, 'tmp'),
          AANA_RUNTIME_DIR: join(folder, 'run'),
          AANA_DASHBOARD_PORT: String(dashboardPort),
          AANA_DASHBOARD_TOKEN: TOKEN,
        },
      },
    );
    const log = createWriteStream(this.logFile);
    this.#child.stdout?.pipe(log);
    this.#child.stderr?.pipe(log);
  }

  /** Starts the host with its files in the folder, and waits until it is ready. */
  static async start(folder: string): Promise<SoakHost> {
    for (const name of ['tmp', 'run', 'media']) await mkdir(join(folder, name));
    const config = {
      app: `${fileURLToPath(new URL('application.js', import.meta.url))}:app`,
      deployments: TEST_DEPLOYMENTS,
      plugin_grants: { 'video-chat': { capabilities: ['*'] } },
      data_dir: join(folder, 'data'),
      media: { temp_dir: join(folder, 'media') },
      limits: { keep_alive_timeout_s: KEEP_ALIVE_S },
      task_queue: { retention: 60 },
      webhook: {
        allow_private_urls: true,
        retry_delay: 0.2,
        max_retry_delay: 1,
        retry_attempts: 100,
        disable_after_failures: 1000,
      },
    };
    await writeFile(join(folder, 'config.json'), JSON.stringify(config));
    const host = new SoakHost(folder, await freePort(), await freePort());
    try {
      await until(() => host.#isReady(), 300_000);
      return host;
    } catch (error) {
      await host[Symbol.asyncDispose]();
      throw error;
    }
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get logFile(): string {
    return `${this.#folder}.log`;
  }

  /** Sends a request to a route for admins, as the dashboard does. */
  admin(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.#dashboard}${path}`, { ...init, headers: { authorization: `Bearer ${TOKEN}` } });
  }

  /** Returns the memory of the host after a forced collection. */
  async memory(): Promise<Memory> {
    const answered = once(this.#child, 'message');
    this.#child.send({});
    const [memory] = (await answered) as [Memory];
    return memory;
  }

  /** Returns the number of open descriptors by kind, such as `socket` or `anon_inode:[eventpoll]`. */
  async descriptors(): Promise<Readonly<Record<string, number>>> {
    const folder = `/proc/${this.pid}/fd`;
    const kinds: Record<string, number> = {};
    for (const name of await readdir(folder)) {
      const target = await readlink(join(folder, name)).catch(() => undefined);
      const kind = target?.startsWith('/') ? target : target?.replace(/:\[\d+\]$/, '');
      if (kind !== undefined) kinds[kind] = (kinds[kind] ?? 0) + 1;
    }
    return kinds;
  }

  /** Returns the files and folders of the host, with paths from its folder. */
  async files(): Promise<string[]> {
    return (await readdir(this.#folder, { recursive: true })).sort();
  }

  async processes(): Promise<{ pid: number; command: string }[]> {
    return descendants(this.pid);
  }

  /** Ends the host in good order. Returns a problem for a bad end and for each of its processes that is left. */
  async stop(): Promise<string[]> {
    const processes = await this.processes();
    this.#child.kill('SIGTERM');
    const [code, signal] = (await once(this.#child, 'exit')) as [number | null, string | null];
    const left: string[] = code === 0 ? [] : [`the host ended with ${code ?? signal}`];
    for (const { pid, command } of processes)
      if (await isRunning(pid)) left.push(`process ${pid} has outlived its host: ${command}`);
    return left;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }

  async #isReady(): Promise<boolean> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null)
      throw new Error(`the host exited before it was ready; its log is ${this.logFile}`);
    const answer = await fetch(`${this.url}/readyz`).catch(() => undefined);
    return answer?.status === 200;
  }
}
