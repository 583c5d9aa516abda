import type { AsrOutput } from '../schemas/index.ts';
import type { SubtitleOptions, TranscriptTextFormat } from './formats.ts';
import { toSrt } from './srt.ts';
import { toText } from './text.ts';
import { toTsv } from './tsv.ts';
import { toVtt } from './vtt.ts';

export { DiarizedTranscription, toDiarizedJson } from './diarized-json.ts';
export {
  SubtitleOptions,
  TRANSCRIPT_FORMATS,
  TRANSCRIPT_MEDIA_TYPES,
  type TranscriptFormat,
  type TranscriptTextFormat,
} from './formats.ts';
export { toSrt } from './srt.ts';
export { toText } from './text.ts';
export { toTsv } from './tsv.ts';
export { type AudioFacts, toVerboseJson, VerboseTranscription } from './verbose-json.ts';
export { toVtt } from './vtt.ts';
export { withSpeakers, type WithSpeakersOptions } from './with-speakers.ts';

const WRITERS = { text: toText, srt: toSrt, vtt: toVtt, tsv: toTsv } satisfies Record<TranscriptTextFormat, unknown>;

/** Returns a transcript as a file of one of the forms that are text. Only subtitles have options. */
export function transcriptFile(format: TranscriptTextFormat, output: AsrOutput, options: SubtitleOptions = {}): string {
  return WRITERS[format](output, options);
}
