import { type ChildProcess, spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fail } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { beforeSignals } from '../packages/index.ts';
import { FailureLines } from './failure-lines.ts';
import { packageFolder } from './inputs.ts';

export interface CompileOptions {
  /** Name of the product for messages: `the native addon`. */
  readonly title: string;
  /** The folder with `CMakeLists.txt` and a `package.json` that names versions of Node-API. */
  readonly directory: string;
  /** CMake's build folder. */
  readonly out: string;
  /** CMake variables. */
  readonly definitions: Readonly<Record<string, string>>;
  /** CMake target. Default: `all`. */
  readonly target?: string | undefined;
  readonly jobs: number;
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
  readonly env: NodeJS.ProcessEnv;
}

const PROGRESS_INTERVAL_MS = 5000;

/** Configures and builds with cmake-js. Headers come from an npm package, so nothing is downloaded. */
export async function compile(options: CompileOptions): Promise<void> {
  const { title, directory, out, signal } = options;
  // cmake-js configures only without one, and `definitions` may have changed.
  await rm(join(out, 'CMakeCache.txt'), { force: true });
  const args = [
    join(packageFolder('cmake-js'), 'bin', 'cmake-js'),
    'build',
    '--directory',
    directory,
    '--out',
    out,
    '--config',
    'Release',
    '--parallel',
    String(options.jobs),
    '--target',
    options.target ?? 'all',
    ...Object.entries(options.definitions).map(([name, value]) => `--CD${name}=${value}`),
  ];
  const failure = new FailureLines();
  let step = '';
  const started = performance.now();
  const progress = setInterval(() => {
    options.log.info(`compiling ${title}`, {
      step: step || 'configure',
      seconds: Math.round((performance.now() - started) / 1000),
    });
  }, PROGRESS_INTERVAL_MS);
  try {
    const code = await new Promise<number | string>((resolve, reject) => {
      signal?.throwIfAborted();
      const child = spawn(process.execPath, args, {
        cwd: directory,
        env: options.env,
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      });
      const release = endGroupWithUs(child, signal);
      const read = (chunk: string): void => {
        for (const line of chunk.split('\n')) {
          if (line.trim() === '') continue;
          step = /^\[\s*(\d+%|\d+\/\d+)\]/.exec(line)?.[1] ?? step;
          options.log.debug('native build', { line });
          failure.add(line);
        }
      };
      child.stdout.setEncoding('utf8').on('data', read);
      child.stderr.setEncoding('utf8').on('data', read);
      child.on('error', reject);
      child.on('close', (exit, name) => {
        release();
        resolve(exit ?? name ?? 'unknown');
      });
    });
    signal?.throwIfAborted();
    if (code !== 0) throw fail('NativeBuildFailed', `building ${title} failed with ${code}:\n${failure}`);
  } finally {
    clearInterval(progress);
  }
}

/**
 * Ends the compilers when `signal` aborts, when this process exits, or when an unhandled signal ends it. The compilers
 * have their own process group, because cmake-js does not pass signals on to them.
 */
function endGroupWithUs(child: ChildProcess, signal: AbortSignal | undefined): () => void {
  const endGroup = (): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGTERM');
    } catch {
      // the group has ended
    }
  };
  const releaseSignals = beforeSignals((name, isAlone) => {
    if (!isAlone) return; // another handler decides
    endGroup();
    release();
    process.kill(process.pid, name);
  });
  const release = (): void => {
    signal?.removeEventListener('abort', endGroup);
    process.off('exit', endGroup);
    releaseSignals();
  };
  signal?.addEventListener('abort', endGroup, { once: true });
  process.on('exit', endGroup);
  return release;
}
