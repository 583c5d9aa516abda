import process from 'node:process';

let isIgnoring = false;

/**
 * Makes the process ignore errors of its standard output and standard error, such as a full disk or a reader that has
 * gone; the output is then lost. For servers: otherwise such an error would be an uncaught exception.
 */
export function ignoreOutputErrors(): void {
  if (isIgnoring) return;
  isIgnoring = true;
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}

/** Returns whether {@link ignoreOutputErrors} was called. */
export function ignoresOutputErrors(): boolean {
  return isIgnoring;
}
