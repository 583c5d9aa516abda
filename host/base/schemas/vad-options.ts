import * as z from 'zod/mini';

const probability = (description: string) =>
  z.optional(z.nullable(z.number().check(z.minimum(0), z.maximum(1), z.describe(description))));

const milliseconds = (description: string) =>
  z.optional(z.nullable(z.number().check(z.minimum(0), z.maximum(60_000), z.describe(description))));

/** How `vad_filter` finds speech. Names are those of faster-whisper. */
export const VadOptions = z.strictObject({
  threshold: probability('Speech begins at this probability of a voice. Default: 0.5.'),
  neg_threshold: probability(
    'Speech ends where the probability stays below this; at most `threshold`. Default: 0.15 below `threshold`, but ' +
      'at least 0.01.',
  ),
  min_speech_duration_ms: milliseconds('Shorter speech is left out. Default: 250.'),
  max_speech_duration_s: z.optional(
    z.nullable(
      z
        .number()
        .check(
          z.minimum(1),
          z.maximum(1_000_000),
          z.describe('Longer speech is cut at its quietest places. Default: `chunk_length`.'),
        ),
    ),
  ),
  min_silence_duration_ms: milliseconds('Shorter silence does not end speech. Default: 100.'),
  speech_pad_ms: milliseconds(
    'Audio before and after speech that is transcribed with it, at most up to the middle of the silence. Default: 200.',
  ),
});
export type VadOptions = z.infer<typeof VadOptions>;
