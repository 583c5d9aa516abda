import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { concatenatedJson } from '../../base/core/json/concatenated-json.ts';
import { packageRoot } from '../../base/core/package-root.ts';

/** Small real models with one thread each. */
export const TEST_DEPLOYMENTS = {
  asr_deployment: {
    type: 'WhisperDeployment',
    user_config: { model_size: 'tiny.en', compute_type: 'int8', threads: 1 },
  },
  llm_deployment: {
    type: 'LlamaTextGenerationDeployment',
    user_config: {
      model_id: 'smollm2-135m-instruct',
      model_kwargs: { n_threads: 1, n_ctx: 4096 },
      default_sampling_params: { max_tokens: 48 },
    },
  },
};

export interface RunningServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly process: ChildProcess;
  /** Returns everything written to stdout and stderr so far. */
  output(): string;
  /** Waits until the output matches. */
  waitFor(pattern: RegExp, timeoutMs?: number): Promise<void>;
  /** Waits until the server exits by itself. Returns the exit code, or the signal's name. */
  ended(): Promise<number | string>;
  /** Ends the server with the signal. */
  stop(signal?: NodeJS.Signals): Promise<number | string>;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

export interface ServeOptions {
  /** Default: `serve`. */
  readonly command?: string;
  readonly plugins?: readonly string[];
  readonly flags?: readonly string[];
  readonly config?: Readonly<Record<string, unknown>>;
  readonly env?: NodeJS.ProcessEnv;
}

/** Runs `aana-host serve` like a user. Does not wait until the server is ready. */
export async function startServe(options: ServeOptions = {}): Promise<RunningServer> {
  const folder = await mkdtemp(join(tmpdir(), 'aana-serve-'));
  const config = join(folder, 'config.json');
  await writeFile(config, JSON.stringify({ deployments: TEST_DEPLOYMENTS, ...options.config }));
  const port = await freePort();
  const child = spawn(
    process.execPath,
    [
      join(packageRoot, 'bundle/host/cli/main.js'),
      options.command ?? 'serve',
      ...(options.plugins ?? [join(packageRoot, 'plugins')]),
      '--config',
      config,
      '--port',
      String(port),
      ...(options.flags ?? []),
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, AANA_DATA_DIR: join(folder, 'data'), ...options.env },
      cwd: folder,
    },
  );
  let output = '';
  child.stdout.on('data', (data) => (output += data));
  child.stderr.on('data', (data) => (output += data));
  const exited = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string);
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return ended();
  };
  const ended = async (): Promise<number | string> => {
    const how = await exited;
    await rm(folder, { recursive: true, force: true });
    return how;
  };
  const waitFor = async (pattern: RegExp, timeoutMs = 180_000): Promise<void> => {
    const deadline = Date.now() + timeoutMs;
    while (!pattern.test(output)) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`the server exited before it printed ${pattern}:\n${output}`);
      if (Date.now() > deadline) throw new Error(`the server did not print ${pattern} in ${timeoutMs} ms:\n${output}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    process: child,
    output: () => output,
    waitFor,
    ended,
    stop,
    [Symbol.asyncDispose]: async () => void (await stop('SIGKILL')),
  };
}

/** Starts a server and waits until it is ready. */
export async function serve(options: ServeOptions = {}): Promise<RunningServer> {
  const server = await startServe(options);
  try {
    await server.waitFor(/Deployed successfully\./);
    return server;
  } catch (error) {
    await server.stop('SIGKILL');
    throw error;
  }
}

/** Posts `body` and files in the form that endpoints expect. */
export function post(
  url: string,
  body: unknown,
  files: Readonly<Record<string, { readonly data: Uint8Array; readonly name?: string }>> = {},
  signal?: AbortSignal,
): Promise<Response> {
  const form = new FormData();
  form.set('body', typeof body === 'string' ? body : JSON.stringify(body));
  for (const [field, file] of Object.entries(files))
    form.set(field, new Blob([new Uint8Array(file.data)]), file.name ?? 'file');
  return fetch(url, { method: 'POST', body: form, ...(signal && { signal }) });
}

/** Returns all objects of a streamed answer. */
export async function streamed<T = { text?: string; error?: string }>(response: Response): Promise<T[]> {
  const objects: T[] = [];
  for await (const object of concatenatedJson(response.body ?? new Blob([]).stream())) objects.push(object as T);
  return objects;
}

/** Returns the running descendants of `pid` with their command lines (Linux). */
export async function descendants(pid: number): Promise<{ pid: number; command: string }[]> {
  const all: { pid: number; parent: number; command: string }[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (!stat || fields[0] === 'Z') continue;
    const command = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '');
    all.push({ pid: Number(name), parent: Number(fields[1]), command: command.replaceAll('\0', ' ') });
  }
  const found: { pid: number; command: string }[] = [];
  const visit = (parent: number): void => {
    for (const entry of all.filter((one) => one.parent === parent)) {
      found.push(entry);
      visit(entry.pid);
    }
  };
  visit(pid);
  return found;
}

/** Returns the CPU seconds of a process so far (Linux counts in hundredths). */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return stat === '' ? 0 : (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Returns whether the process runs. A zombie does not count. */
export async function isRunning(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat !== '' && stat.slice(stat.lastIndexOf(')') + 2)[0] !== 'Z';
}

/** Polls until the condition holds. */
export async function until(condition: () => Promise<boolean>, timeoutMs = 30_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('the condition did not become true in time');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
