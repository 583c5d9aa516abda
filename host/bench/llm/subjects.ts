import { freePort } from '../../test/helpers/server.ts';
import { type ServerProcess, startProgram, startScript } from '../server-process.ts';

export interface ServerOptions {
  readonly modelPath: string;
  /** Answers that are generated at the same time. */
  readonly slots: number;
  /** Tokens of one answer with its prompt. */
  readonly contextTokens: number;
  readonly threads: number;
}

export type StartSubject = (options: ServerOptions) => Promise<ServerProcess>;

/** An application of this project. `modelKwargs` are further ones of its deployment. */
export const startAana =
  (modelKwargs: Readonly<Record<string, unknown>>): StartSubject =>
  (options) =>
    startScript(new URL('./aana-server.js', import.meta.url), {
      BENCH_LLM: JSON.stringify({ ...options, modelKwargs }),
    });

/** node-llama-cpp behind a minimal HTTP server. `folder` has it installed. */
export const startNodeLlamaCpp =
  (folder: string): StartSubject =>
  (options) =>
    startScript(new URL('./node-llama-cpp-server.js', import.meta.url), {
      BENCH_LLM: JSON.stringify(options),
      BENCH_FOLDER: folder,
    });

/** llama.cpp's own server. `path` is its binary. */
export const startLlamaServer =
  (path: string): StartSubject =>
  async ({ modelPath, slots, contextTokens, threads }) => {
    const port = await freePort();
    const flags = ['--model', modelPath, '--host', '127.0.0.1', '--port', String(port), '--parallel', String(slots)];
    flags.push('--ctx-size', String(slots * contextTokens), '--threads', String(threads));
    flags.push('--threads-batch', String(threads), '--n-gpu-layers', '0');
    return startProgram(path, flags, port);
  };
