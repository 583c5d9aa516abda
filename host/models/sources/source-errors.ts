import { AanaError } from '../../core/errors.ts';

/** One source failed; the next one may work. */
export function downloadError(url: string, reason: string, cause?: unknown): AanaError {
  return new AanaError('DownloadException', 'unavailable', `${url}: ${reason}`, { data: { url }, cause });
}

/** There was no answer at all. */
export class UnreachableError extends AanaError {
  constructor(origin: string, reason: string, cause?: unknown) {
    super('DownloadException', 'unavailable', `${origin} cannot be reached${reason === '' ? '' : ` (${reason})`}`, {
      data: { url: origin },
      cause,
    });
  }
}

/** `needed` bytes did not fit; undefined where the source did not say how many they are. */
export function diskFullError(what: string, folder: string, needed: number | undefined, free?: number): AanaError {
  const needs = needed === undefined ? '' : `, ${Math.ceil(needed / 1e6)} MB are needed`;
  const has = free === undefined ? 'no space is left' : `only ${Math.floor(free / 1e6)} MB are free`;
  return new AanaError(
    'InsufficientResources',
    'unavailable',
    `${what}: ${has} on the disk of ${folder}${needs}; free some, or set AANA_CACHE_DIR to another folder`,
    {
      data: { folder, needed_bytes: needed ?? null },
    },
  );
}

export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) return true;
  return /ENOSPC|No space left on device/.test(error.message) || isDiskFull(error.cause);
}
