import process from 'node:process';

let isIgnoring = false;

/**
 * From now on a full disk behind the standard output or the standard error, or a reader of theirs that has gone, does
 * not end the process: what cannot be written is dropped. For processes that serve; without this, the stream's error
 * would be an uncaught exception.
 */
export function ignoreOutputErrors(): void {
  if (isIgnoring) return;
  isIgnoring = true;
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}

/** Whether {@link ignoreOutputErrors} was called. */
export function ignoresOutputErrors(): boolean {
  return isIgnoring;
}
