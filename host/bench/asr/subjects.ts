import { join } from 'node:path';
import { packageRoot } from '../../base/core/package-root.ts';
import { freePort } from '../../test/helpers/server.ts';
import { type ServerProcess, startProgram, startScript } from '../server-process.ts';
import { formRequest, type Transcript, transcribed } from './transcripts.ts';

/** Settings that all servers have. */
export interface AsrSettings {
  /** A size of Whisper. */
  readonly model: string;
  readonly threads: number;
  /** Requests or windows that are computed at the same time, with `threads` each. */
  readonly windows: number;
  /** Beams of the search; 1 is greedy. */
  readonly beams: number;
  /** Whether parts without voice are left out, where a server can do that with one thread. */
  readonly vad: boolean;
  readonly timestamps: boolean;
}

/** A speech recogniser behind HTTP. */
export interface AsrSubject extends ServerProcess {
  /** Without `language`, the server finds it. */
  transcribe(wav: Buffer, language: string | undefined): Promise<Transcript>;
}

export type StartSubject = (settings: AsrSettings) => Promise<AsrSubject>;

/** An application of this project. `userConfig` has further fields of its deployment. */
export const startAana =
  (userConfig: Readonly<Record<string, unknown>>): StartSubject =>
  async (settings) => {
    const env = { BENCH_ASR: JSON.stringify({ ...settings, userConfig }) };
    const server = await startScript(new URL('./aana-server.js', import.meta.url), env);
    return {
      ...server,
      transcribe: async (wav, language) => {
        const body = JSON.stringify({ audio: { content: 'wav' }, language: language ?? null });
        return transcribed(server.port, await formRequest('/transcribe', ['wav', wav], { body }));
      },
    };
  };

/** Files of whisper.cpp's server. */
export interface WhisperServerFiles {
  readonly program: string;
  readonly model: string;
}

/**
 * whisper.cpp's own server. It computes one request at a time and answers with the whole text. It always runs without
 * voice activity detection, because it uses four threads for that, whatever its settings are.
 */
export const startWhisperServer =
  ({ program, model }: WhisperServerFiles): StartSubject =>
  async ({ threads, beams, timestamps }) => {
    const port = await freePort();
    const flags = ['--model', model, '--host', '127.0.0.1', '--port', String(port), '--threads', String(threads)];
    flags.push('--no-gpu', '--max-context', '0', '--best-of', '5');
    if (beams > 1) flags.push('--beam-size', String(beams));
    if (!timestamps) flags.push('--no-timestamps');
    const server = await startProgram(program, flags, port);
    return {
      ...server,
      transcribe: async (wav, language = 'auto') =>
        transcribed(server.port, await formRequest('/inference', ['file', wav], { language })),
    };
  };

export interface FasterWhisperOptions {
  /** A Python that has faster-whisper installed. */
  readonly python: string;
  /** A folder in CTranslate2 form, or a name that faster-whisper fetches. */
  readonly model: string;
  /** Windows that its batched pipeline computes together; 0 is its plain mode. */
  readonly batchSize: number;
}

/** faster-whisper with 8-bit weights, behind a minimal HTTP server. */
export const startFasterWhisper =
  ({ python, model, batchSize }: FasterWhisperOptions): StartSubject =>
  async (settings) => {
    const port = await freePort();
    const threads = String(settings.threads);
    const env = {
      BENCH_ASR: JSON.stringify({ ...settings, model, batchSize, port }),
      // numpy computes the spectrogram with these.
      OMP_NUM_THREADS: threads,
      OPENBLAS_NUM_THREADS: threads,
    };
    const script = join(packageRoot, 'host/bench/asr/faster_whisper_server.py');
    const server = await startProgram(python, [script], port, env);
    return {
      ...server,
      transcribe: (wav, language) =>
        transcribed(server.port, {
          path: `/transcribe${language === undefined ? '' : `?language=${language}`}`,
          contentType: 'audio/wav',
          body: wav,
        }),
    };
  };
