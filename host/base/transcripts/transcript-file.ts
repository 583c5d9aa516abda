import type { AsrOutput } from '../schemas/index.ts';
import type { SubtitleOptions, TranscriptTextFormat } from './formats.ts';
import { toSrt } from './srt.ts';
import { toText } from './text.ts';
import { toTsv } from './tsv.ts';
import { toVtt } from './vtt.ts';

const WRITERS = { text: toText, srt: toSrt, vtt: toVtt, tsv: toTsv } satisfies Record<TranscriptTextFormat, unknown>;

/** Returns a transcript as a file of one of the forms that are text. Only subtitles have options. */
export function transcriptFile(format: TranscriptTextFormat, output: AsrOutput, options: SubtitleOptions = {}): string {
  return WRITERS[format](output, options);
}
