import { AanaError, fail, isDiskFull, kindOf } from '../../../base/core/errors.ts';

/** Returns the error for one source that failed. The next source may work. */
export function downloadError(url: string, reason: string, cause?: unknown): AanaError {
  return fail('DownloadFailed', `${url}: ${reason}`, { data: { url }, cause });
}

/** The server gave no answer at all. */
export class UnreachableError extends AanaError {
  constructor(origin: string, reason: string, cause?: unknown) {
    super(
      'DownloadFailed',
      kindOf('DownloadFailed'),
      `${origin} cannot be reached${reason === '' ? '' : ` (${reason})`}`,
      {
        data: { url: origin },
        cause,
      },
    );
  }
}

/**
 * Returns the error for `needed` bytes that do not fit on the disk. `needed` is undefined if the source does not tell
 * the size.
 */
export function diskFullError(what: string, folder: string, needed: number | undefined, free?: number): AanaError {
  const needs = needed === undefined ? '' : `, ${Math.ceil(needed / 1e6)} MB are needed`;
  const has = free === undefined ? 'no space is left' : `only ${Math.floor(free / 1e6)} MB are free`;
  return fail(
    'InsufficientResources',
    `${what}: ${has} on the disk of ${folder}${needs}; free some, or set AANA_CACHE_DIR to another folder`,
    {
      data: { folder, needed_bytes: needed ?? null },
    },
  );
}

/** Returns whether a disk is full for this process, or for one that it started and that said so. */
export function diskIsFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return isDiskFull(error) || /ENOSPC|No space left on device/.test(error.message) || diskIsFull(error.cause);
}
