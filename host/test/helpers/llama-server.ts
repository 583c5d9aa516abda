import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { delay } from '../../base/core/abort.ts';
import { LLAMA_VERSION } from '../../setup/native-build/pins.ts';

/** Returns where `native/bench/llama-server/build.mjs` puts the program. */
export function llamaServerPath(cacheDir: string): string {
  return join(cacheDir, 'bench', `llama-server-${LLAMA_VERSION}`, 'llama-server');
}

/** Reason why tests with llama-server cannot run; undefined if they can. */
export function noLlamaServer(cacheDir = process.env['AANA_CACHE_DIR'] ?? ''): string | undefined {
  return existsSync(llamaServerPath(cacheDir))
    ? undefined
    : 'llama-server is not built; `node native/bench/llama-server/build.mjs` builds it';
}

/** A running llama-server. */
export interface LlamaServer extends AsyncDisposable {
  /** Its address, up to `/v1`. */
  readonly baseUrl: string;
  /** Returns the JSON of an answer to GET. `path` begins beside `/v1`. */
  get(path: string): Promise<unknown>;
}

const START_TIMEOUT_MS = 60_000;

/** Starts llama-server with one model and one thread. Resolves when it has loaded the model. */
export async function startLlamaServer(model: string, args: readonly string[] = []): Promise<LlamaServer> {
  const port = await freePort();
  const child = spawn(
    llamaServerPath(process.env['AANA_CACHE_DIR'] ?? ''),
    ['-m', model, '--host', '127.0.0.1', '--port', String(port), '-t', '1', ...args],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log = (log + text).slice(-4000)));
  const root = `http://127.0.0.1:${port}`;
  try {
    await healthy(child, root, () => log);
  } catch (error) {
    await stop(child);
    throw error;
  }
  return {
    baseUrl: `${root}/v1`,
    get: async (path) => (await fetch(root + path)).json(),
    [Symbol.asyncDispose]: () => stop(child),
  };
}

async function healthy(child: ChildProcess, root: string, log: () => string): Promise<void> {
  const untilMs = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < untilMs) {
    if (child.exitCode !== null) throw new Error(`llama-server ended with ${child.exitCode}: ${log()}`);
    const response = await fetch(`${root}/health`).catch(() => undefined);
    if (response?.ok) return;
    await delay(100);
  }
  throw new Error(`llama-server did not start: ${log()}`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
