import * as z from 'zod/mini';
import { AsrOutput, asText, textAnswer } from '../schemas/index.ts';
import { DiarizedTranscription, toDiarizedJson } from './diarized-json.ts';
import { SubtitleOptions, TRANSCRIPT_FORMATS, TRANSCRIPT_MEDIA_TYPES } from './formats.ts';
import { transcriptFile } from './transcript-file.ts';
import { type AudioFacts, type SpeechTask, toVerboseJson, VerboseTranscription } from './verbose-json.ts';

const { text, srt, vtt, tsv } = TRANSCRIPT_MEDIA_TYPES;

/** The answers of an endpoint in each form of a transcript: `output: answerBy('format', TRANSCRIPT_ANSWERS)`. */
export const TRANSCRIPT_ANSWERS = {
  json: AsrOutput,
  text: textAnswer(text),
  srt: textAnswer(srt),
  vtt: textAnswer(vtt),
  tsv: textAnswer(tsv),
  verbose_json: VerboseTranscription,
  diarized_json: DiarizedTranscription,
} as const;

/** Keys of an endpoint's input that choose the form of a transcript. */
export const TranscriptForm = z.strictObject({
  format: z._default(
    z.nullable(
      z
        .enum(TRANSCRIPT_FORMATS)
        .check(
          z.describe(
            'The form of the answer. "json" has all facts, "text", "srt", "vtt" and "tsv" are text of their media ' +
              'types, "verbose_json" and "diarized_json" have the shapes of OpenAI\'s API. "diarized_json" ' +
              'needs speakers.',
          ),
        ),
    ),
    'json',
  ),
  ...SubtitleOptions.shape,
});
export type TranscriptForm = z.infer<typeof TranscriptForm>;

/** Returns what is wrong with the options together. Each option is valid alone. */
export function transcriptFormProblems(
  form: TranscriptForm,
): readonly { readonly path: readonly [keyof TranscriptForm]; readonly message: string }[] {
  const isSubtitles = form.format === 'srt' || form.format === 'vtt';
  if (isSubtitles)
    return form.max_line_count != null && form.max_line_width == null
      ? [
          {
            path: ['max_line_count'],
            message: 'max_line_count needs max_line_width, because a segment is one line without it',
          },
        ]
      : [];
  return (['max_line_width', 'max_line_count', 'highlight_words'] as const)
    .filter((key) => form[key] != null && form[key] !== false)
    .map((key) => ({ path: [key], message: `${key} is an option of the formats "srt" and "vtt"` }));
}

/**
 * Whether the form needs the times of words: a segment is divided at its words, and a word is underlined at its times.
 */
export function needsWordTimes({ max_line_count: lines, highlight_words: highlights }: TranscriptForm): boolean {
  return lines != null || highlights === true;
}

/** Returns a transcript in the form that the input of an endpoint chooses. */
export function transcriptAnswer(
  { format, max_line_width, max_line_count, highlight_words }: TranscriptForm,
  output: AsrOutput,
  audio: AudioFacts = {},
  task?: SpeechTask,
): z.infer<(typeof TRANSCRIPT_ANSWERS)[keyof typeof TRANSCRIPT_ANSWERS]> {
  switch (format) {
    case null:
    case 'json':
      return output;
    case 'verbose_json':
      return toVerboseJson(output, audio, task);
    case 'diarized_json':
      return toDiarizedJson(output, audio);
    default:
      return asText(
        TRANSCRIPT_MEDIA_TYPES[format],
        transcriptFile(format, output, { max_line_width, max_line_count, highlight_words }),
      );
  }
}
