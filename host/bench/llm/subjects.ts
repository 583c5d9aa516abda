import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../test/helpers/server.ts';
import { killTree, treeUsage } from '../plugins/processes.ts';

export interface ServerOptions {
  readonly modelPath: string;
  /** Answers that are generated at the same time. */
  readonly slots: number;
  /** Tokens of one answer with its prompt. */
  readonly contextTokens: number;
  readonly threads: number;
}

/** A server that is measured, in processes of its own. */
export interface LlmSubject extends AsyncDisposable {
  readonly port: number;
  /** Milliseconds of CPU time of all its processes so far. */
  cpuMs(): Promise<number>;
  /** Megabytes of memory of all its processes. */
  memoryMb(): Promise<number>;
}

export type StartSubject = (options: ServerOptions) => Promise<LlmSubject>;

/** An application of this project. `modelKwargs` are further ones of its deployment. */
export const startAana =
  (modelKwargs: Readonly<Record<string, unknown>>): StartSubject =>
  (options) =>
    startNodeServer('./aana-server.js', { BENCH_LLM: JSON.stringify({ ...options, modelKwargs }) });

/** node-llama-cpp behind a minimal HTTP server. `folder` has it installed. */
export const startNodeLlamaCpp =
  (folder: string): StartSubject =>
  (options) =>
    startNodeServer('./node-llama-cpp-server.js', { BENCH_LLM: JSON.stringify(options), BENCH_FOLDER: folder });

/** llama.cpp's own server. `path` is its binary. */
export const startLlamaServer =
  (path: string): StartSubject =>
  async ({ modelPath, slots, contextTokens, threads }) => {
    const port = await freePort();
    const flags = ['--model', modelPath, '--host', '127.0.0.1', '--port', String(port), '--parallel', String(slots)];
    flags.push('--ctx-size', String(slots * contextTokens), '--threads', String(threads));
    flags.push('--threads-batch', String(threads), '--n-gpu-layers', '0');
    const child = spawn(path, flags, {
      stdio: ['ignore', 'ignore', process.env['BENCH_STDERR'] ? 'inherit' : 'ignore'],
    });
    const subject = subjectOf(child, port);
    const deadline = Date.now() + 120_000;
    while (!(await isHealthy(port))) {
      if (Date.now() > deadline || child.exitCode !== null) {
        await subject[Symbol.asyncDispose]();
        throw new Error(`${path} did not start`);
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    return subject;
  };

async function startNodeServer(name: string, env: NodeJS.ProcessEnv): Promise<LlmSubject> {
  const child = spawn(process.execPath, [fileURLToPath(new URL(name, import.meta.url))], {
    stdio: ['ignore', 'ignore', process.env['BENCH_STDERR'] ? 'inherit' : 'ignore', 'ipc'],
    env: { ...process.env, ...env },
  });
  const port = await new Promise<number>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${name} exited with ${code}`)));
    child.on('message', (message: { readonly type: string; readonly port: number }) => {
      if (message.type === 'listening') resolve(message.port);
    });
  });
  return subjectOf(child, port);
}

const subjectOf = (child: ReturnType<typeof spawn>, port: number): LlmSubject => ({
  port,
  cpuMs: async () => (await treeUsage(child)).cpuMicroseconds / 1000,
  memoryMb: async () => (await treeUsage(child)).rssBytes / 2 ** 20,
  [Symbol.asyncDispose]: () => killTree(child),
});

async function isHealthy(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health`)).ok;
  } catch {
    return false;
  }
}
