import type { LogFields, Logger } from './logger.ts';

const LINES = 10;
const WINDOW_MS = 10_000;

/**
 * Returns what logs a warning that strangers can cause: at most ten lines in ten seconds. The next line has the number
 * of those that were left out in `left_out`.
 */
export function sparing(log: Logger, message: string): (fields: LogFields) => void {
  let startedAt = Number.NEGATIVE_INFINITY;
  let count = 0;
  return (fields) => {
    const leftOut = count - LINES;
    if (performance.now() - startedAt >= WINDOW_MS) {
      startedAt = performance.now();
      count = 0;
    }
    count += 1;
    if (count <= LINES) log.warn(message, count === 1 && leftOut > 0 ? { ...fields, left_out: leftOut } : fields);
  };
}
