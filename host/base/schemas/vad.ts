import * as z from 'zod/mini';
import { answerOf } from './answer-kinds.ts';
import { TimeInterval } from './asr.ts';
import { absent } from './fields.ts';

const threshold = z.number().check(z.minimum(0), z.maximum(1));

/** Parameters of `asr_preprocess_vad`. */
export const VadParams = z.strictObject({
  chunk_size: z._default(
    z.number().check(z.minimum(10), z.maximum(3600), z.describe('Longest segment, in seconds.')),
    30,
  ),
  merge_onset: absent(
    threshold.check(
      z.describe('Speech begins when its probability rises above this. Default: the configuration, which has 0.5.'),
    ),
  ),
  merge_offset: absent(
    threshold.check(
      z.describe(
        'Speech ends when its probability falls below this; at most `merge_onset`. Default: the configuration, and ' +
          'not above `merge_onset`.',
      ),
    ),
  ),
});
export type VadParams = z.infer<typeof VadParams>;

/** A part of an audio that is transcribed in one piece: regions of speech, with short pauses between them. */
export const VadSegment = z.strictObject({
  time_interval: TimeInterval,
  segments: z
    .array(z.tuple([z.number().check(z.minimum(0)), z.number().check(z.minimum(0))]))
    .check(z.describe('The regions of speech: start and end of each in seconds.')),
});
export type VadSegment = z.infer<typeof VadSegment>;

/** The result of `asr_preprocess_vad`. Audio without speech has no segments. */
export const VadSegments = answerOf('speech', z.strictObject({ segments: z.array(VadSegment) }));
export type VadSegments = z.infer<typeof VadSegments>;
