import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { AanaError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { packageRoot } from '../core/package-root.ts';
import { packageFolder } from './inputs.ts';
import { WHISPER_VERSION } from './pins.ts';
import type { NativeSources } from './sources.ts';

export interface CompileOptions {
  readonly sources: NativeSources;
  readonly jobs: number;
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
  readonly env: NodeJS.ProcessEnv;
}

/** Lines of the compiler kept for the error message. */
const KEPT_LINES = 60;
const PROGRESS_INTERVAL_MS = 5000;

/** Configures and builds with cmake-js; its headers come from an npm package, nothing is downloaded. Results are in `build/Release`. */
export async function compile(options: CompileOptions): Promise<void> {
  const { sources, signal } = options;
  const definitions = {
    AANA_LLAMA_DIR: sources.llama,
    AANA_WHISPER_DIR: sources.whisper,
    AANA_WHISPER_VERSION: WHISPER_VERSION,
    AANA_NAPI_DIR: packageFolder('node-addon-api'),
    AANA_PREBUILT_DIR: sources.libraries ?? 'OFF',
  };
  const args = [
    join(packageFolder('cmake-js'), 'bin', 'cmake-js'),
    'build',
    '--directory',
    packageRoot,
    '--out',
    join(packageRoot, 'build', 'cmake'),
    '--config',
    'Release',
    '--parallel',
    String(options.jobs),
    ...Object.entries(definitions).map(([name, value]) => `--CD${name}=${value}`),
  ];
  const lines: string[] = [];
  let step = '';
  const started = Date.now();
  const progress = setInterval(() => {
    options.log.info('compiling the native addon', { step: step || 'configure', seconds: Math.round((Date.now() - started) / 1000) });
  }, PROGRESS_INTERVAL_MS);
  try {
    const code = await new Promise<number | string>((resolve, reject) => {
      const child = spawn(process.execPath, args, { cwd: packageRoot, env: options.env, stdio: ['ignore', 'pipe', 'pipe'], signal });
      const read = (chunk: string): void => {
        for (const line of chunk.split('\n')) {
          if (line.trim() === '') continue;
          step = /^\[\s*(\d+%|\d+\/\d+)\]/.exec(line)?.[1] ?? step;
          options.log.debug('native build', { line });
          lines.push(line);
          if (lines.length > KEPT_LINES) lines.shift();
        }
      };
      child.stdout.setEncoding('utf8').on('data', read);
      child.stderr.setEncoding('utf8').on('data', read);
      child.on('error', reject);
      child.on('close', (exit, name) => resolve(exit ?? name ?? 'unknown'));
    });
    if (code !== 0) throw new AanaError('NativeBuildFailed', 'internal', `building the native addon ended with ${code}:\n${failure(lines)}`);
  } finally {
    clearInterval(progress);
  }
}

/** The lines from the first failed command on; cmake-js prints its configuration before. */
function failure(lines: readonly string[]): string {
  const first = lines.findIndex((line) => /^FAILED:|\berror\b/i.test(line));
  return lines.slice(Math.max(0, first)).join('\n');
}
