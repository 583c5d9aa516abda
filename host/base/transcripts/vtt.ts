import type { AsrOutput } from '../schemas/index.ts';
import { type Cue, cuesOf } from './cues.ts';
import type { SubtitleOptions } from './formats.ts';
import { clockTime } from './times.ts';

/** Returns a transcript as WebVTT. A speaker is a voice: `<v Name>`. */
export function toVtt(output: AsrOutput, options?: SubtitleOptions): string {
  return ['WEBVTT\n', ...cuesOf(output, options).map(blockOf)].join('\n');
}

function blockOf({ startMs, endMs, lines, speaker }: Cue): string {
  const text = lines
    .map((pieces) =>
      pieces.map(({ text: piece, isSpoken }) => (isSpoken ? `<u>${escaped(piece)}</u>` : escaped(piece))).join(''),
    )
    .join('\n');
  const voice = speaker === undefined ? '' : `<v ${escaped(speaker)}>`;
  return `${clockTime(startMs, '.')} --> ${clockTime(endMs, '.')}\n${voice}${text}\n`;
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** An escaped text has no `-->`, which a block must not contain. */
function escaped(text: string): string {
  return text.replaceAll(/[&<>]/g, (character) => ESCAPES[character] ?? '');
}
