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

/** A server that answers `/completion`. */
export interface Subject extends ServerProcess {
  readonly name: string;
  /** Returns how many tokens its model has chosen so far, by its own counter; undefined where it has none. */
  generatedTokens(): Promise<number | undefined>;
  /**
   * Returns how many tokens were guessed so far, and how many of them came true. Other servers than ours do not tell.
   */
  guesses(): Promise<Guesses>;
}

export interface Guesses {
  readonly guessed: number | undefined;
  readonly accepted: number | undefined;
}

export type StartSubject = (options: ServerOptions) => Promise<Subject>;

function subject(name: string, server: ServerProcess, counter?: string): Subject {
  const valueOf = async (metric: string): Promise<number | undefined> => {
    const text = await (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text();
    const value = new RegExp(`^${metric}(?:\\{.*\\})? (\\S+)$`, 'm').exec(text)?.[1];
    return value === undefined ? undefined : Number(value);
  };
  return {
    ...{ ...server, name },
    generatedTokens: async () => (counter === undefined ? undefined : await valueOf(counter)),
    guesses: async () => ({
      guessed: await valueOf('aana_engine_tokens_guessed_total'),
      accepted: await valueOf('aana_engine_tokens_accepted_total'),
    }),
  };
}

/** An application of this project. `modelKwargs` are further ones of its deployment. */
export const startAana =
  (modelKwargs: Readonly<Record<string, unknown>>, adapters: Readonly<Record<string, unknown>> = {}): StartSubject =>
  async (options) =>
    subject(
      'aana-host',
      await startScript(new URL('./aana-server.js', import.meta.url), {
        BENCH_LLM: JSON.stringify({ ...options, modelKwargs, adapters }),
      }),
      'aana_engine_tokens_generated_total',
    );

/** node-llama-cpp behind a minimal HTTP server. `folder` has it installed. */
export const startNodeLlamaCpp =
  (folder: string): StartSubject =>
  async (options) =>
    subject(
      'node-llama-cpp',
      await startScript(new URL('./node-llama-cpp-server.js', import.meta.url), {
        BENCH_LLM: JSON.stringify(options),
        BENCH_FOLDER: folder,
      }),
    );

/** llama.cpp's own server. `path` is its binary. */
export const startLlamaServer =
  (path: string): StartSubject =>
  async ({ modelPath, slots, contextTokens, threads }) => {
    const port = await freePort();
    const flags = ['--model', modelPath, '--host', '127.0.0.1', '--port', String(port), '--parallel', String(slots)];
    flags.push('--ctx-size', String(slots * contextTokens), '--threads', String(threads));
    flags.push('--threads-batch', String(threads), '--n-gpu-layers', '0', '--metrics');
    return subject('llama-server', await startProgram(path, flags, port), 'llamacpp:tokens_predicted_total');
  };
