import * as z from 'zod/mini';

/** The forms of a transcript. `json` is the form of the deployment's answer. */
export const TRANSCRIPT_FORMATS = ['json', 'text', 'srt', 'vtt', 'tsv', 'verbose_json', 'diarized_json'] as const;
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

/** The media type of each form that is text. The other forms are JSON. */
export const TRANSCRIPT_MEDIA_TYPES = {
  text: 'text/plain',
  srt: 'application/x-subrip',
  vtt: 'text/vtt',
  tsv: 'text/tab-separated-values',
} as const;
export type TranscriptTextFormat = keyof typeof TRANSCRIPT_MEDIA_TYPES;

const MOST_CHARACTERS = 1000;
const MOST_LINES = 100;

/** Options of subtitles: `srt` and `vtt`. */
export const SubtitleOptions = z.strictObject({
  max_line_width: z.optional(
    z.nullable(
      z
        .int()
        .check(
          z.minimum(1),
          z.maximum(MOST_CHARACTERS),
          z.describe(
            'Most characters of a line, without the name of a speaker; a longer word is cut. Default: one line for ' +
              'each segment.',
          ),
        ),
    ),
  ),
  max_line_count: z.optional(
    z.nullable(
      z
        .int()
        .check(
          z.minimum(1),
          z.maximum(MOST_LINES),
          z.describe('Most lines that are shown at a time. Needs `max_line_width`. Default: all lines of a segment.'),
        ),
    ),
  ),
  highlight_words: z.optional(
    z.nullable(z.boolean().check(z.describe('Whether each word is underlined while it is spoken.'))),
  ),
});
export type SubtitleOptions = z.infer<typeof SubtitleOptions>;
