import type { AsrOutput } from '../schemas/index.ts';
import { type Cue, cuesOf } from './cues.ts';
import type { SubtitleOptions } from './formats.ts';
import { clockTime } from './times.ts';

/**
 * Returns a transcript as SubRip subtitles. A speaker's name comes before the text. SubRip has no way to escape its
 * tags, so `<` stays, and `-->`, which would look like a line of times, becomes `->`.
 */
export function toSrt(output: AsrOutput, options?: SubtitleOptions): string {
  return cuesOf(output, options)
    .map(
      (cue, n) =>
        `${n + 1}\n${clockTime(cue.startMs, ',')} --> ${clockTime(cue.endMs, ',')}\n${linesOf(cue).join('\n')}\n`,
    )
    .join('\n');
}

function linesOf({ lines, speaker }: Cue): string[] {
  return lines.map((pieces, n) => {
    const text = pieces.map(({ text: piece, isSpoken }) => (isSpoken ? `<u>${piece}</u>` : piece)).join('');
    return `${n === 0 && speaker !== undefined ? `${speaker}: ` : ''}${text}`.replaceAll(/--+>/g, '->');
  });
}
