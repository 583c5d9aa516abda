import type { AsrOutput } from '../schemas/index.ts';
import { oneLine } from './one-line.ts';
import { milliseconds } from './times.ts';

/**
 * Returns a transcript as a table with tabs between its columns: `start` and `end` in milliseconds, `speaker` if
 * speakers are distinguished, and `text`. Segments without text have no row.
 */
export function toTsv({ segments }: AsrOutput): string {
  const hasSpeakers = segments.some(({ speaker }) => speaker !== null);
  const rows = segments
    .filter(({ text }) => oneLine(text) !== '')
    .map(({ time_interval: { start, end }, speaker, text }) => [
      milliseconds(start),
      milliseconds(end),
      ...(hasSpeakers ? [oneLine(speaker ?? '')] : []),
      oneLine(text),
    ]);
  const head = ['start', 'end', ...(hasSpeakers ? ['speaker'] : []), 'text'];
  return [head, ...rows].map((row) => `${row.join('\t')}\n`).join('');
}
