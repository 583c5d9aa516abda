import { rm, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { fail } from '../../../base/core/errors.ts';
import type { WeightType } from '../../../base/core/model-files/weight-types.ts';
import { runContained } from '../../../base/processes/index.ts';
import type { ReportProgress } from '../../packages/index.ts';

export interface RequantizeOptions {
  readonly signal?: AbortSignal | undefined;
  /** Estimated bytes of the result, for the progress. */
  readonly bytes: number;
  readonly onProgress?: ReportProgress | undefined;
}

const CHILD = fileURLToPath(new URL('requantize-child.js', import.meta.url));
const POLL_MS = 500;

/**
 * Writes the model of `source` to `target` with another type of weights, in a child process. The time and memory of the
 * child have no limit, because they depend on the model; the signal ends it. Throws `ModelFormatError` with the reason.
 */
export async function requantize(
  source: string,
  target: string,
  type: WeightType,
  { signal, bytes, onProgress }: RequantizeOptions,
): Promise<void> {
  const poll = setInterval(() => {
    void stat(target).then(
      ({ size }) => onProgress?.(Math.min(size, bytes), bytes, `writing ${type} weights`),
      () => {},
    );
  }, POLL_MS);
  try {
    const threads = Math.max(1, Math.floor(availableParallelism() / 2));
    const {
      code,
      signal: killed,
      stderr,
    } = await runContained(process.execPath, [CHILD, source, target, type, String(threads)], {
      ...(signal && { signal }),
    });
    if (code === 0) return;
    const reason = stderr.trim().split('\n').slice(-3).join('; ') || `the process ended with ${killed ?? code}`;
    throw fail('ModelFormatError', `${path.basename(source)} cannot be written with ${type} weights: ${reason}`, {
      data: { file: path.basename(source) },
    });
  } catch (error) {
    await rm(target, { force: true });
    throw error;
  } finally {
    clearInterval(poll);
  }
}
