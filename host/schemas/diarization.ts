import * as z from 'zod/mini';
import { TimeInterval } from './asr.ts';
import { absent } from './fields.ts';

const MOST_SPEAKERS = 100;
const speakers = z.int().check(z.minimum(1), z.maximum(MOST_SPEAKERS));

/** Parameters of `diarize`. */
export const SpeakerDiarizationParams = z
  .strictObject({
    min_speakers: absent(speakers.check(z.describe('Least number of speakers. Default: as many as are heard.'))),
    max_speakers: absent(speakers.check(z.describe('Most speakers. Default: as many as are heard.'))),
    threshold: absent(
      z
        .number()
        .check(
          z.minimum(-1),
          z.maximum(1),
          z.describe('Least similarity (cosine) of voices that count as one speaker. Default: the configuration.'),
        ),
    ),
    exclusive: z._default(
      z.boolean().check(z.describe('Whether segments end before the next one begins. `false` gives overlaps.')),
      true,
    ),
  })
  .check(
    z.refine(({ min_speakers: least, max_speakers: most }) => least == null || most == null || least <= most, {
      path: ['min_speakers'],
      message: 'min_speakers must be at most max_speakers.',
    }),
  );
export type SpeakerDiarizationParams = z.infer<typeof SpeakerDiarizationParams>;

/** A time in which one speaker speaks. */
export const SpeakerDiarizationSegment = z.strictObject({
  time_interval: TimeInterval,
  speaker: z.string().check(z.describe('Name of the speaker: `SPEAKER_00` is the first one who speaks.')),
});
export type SpeakerDiarizationSegment = z.infer<typeof SpeakerDiarizationSegment>;

/** The result of `diarize`. */
export const SpeakerDiarizationOutput = z.strictObject({ segments: z.array(SpeakerDiarizationSegment) });
export type SpeakerDiarizationOutput = z.infer<typeof SpeakerDiarizationOutput>;
