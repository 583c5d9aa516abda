import * as z from 'zod/mini';
import { answerOf } from './answer-kinds.ts';
import { TimeInterval } from './asr.ts';
import { AudioReference } from './media-references.ts';
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

const MOST_KNOWN_SPEAKERS = 16;
const LONGEST_NAME = 100;

/** A speaker whose voice is known. */
export const KnownSpeaker = z.strictObject({
  name: z
    .string()
    .check(
      z.minLength(1),
      z.maxLength(LONGEST_NAME),
      z.regex(/^(?=.*\S)\P{Cc}*$/u, 'A name has a character that is seen, and no line breaks or control characters.'),
      z.describe('Name of the speaker in the result, instead of a number.'),
    ),
  audio: AudioReference.check(z.describe('Speech of this person alone, at most 30 s. Some seconds are enough.')),
});
export type KnownSpeaker = z.infer<typeof KnownSpeaker>;

/** Speakers whose voices are known, with different names. */
export const KnownSpeakers = z
  .array(KnownSpeaker)
  .check(z.maxLength(MOST_KNOWN_SPEAKERS))
  .check(
    z.refine((speakers) => new Set(speakers.map(({ name }) => name)).size === speakers.length, {
      message: 'The names must differ.',
    }),
  );

/** A time in which one speaker speaks. */
export const SpeakerDiarizationSegment = z.strictObject({
  time_interval: TimeInterval,
  speaker: z.string().check(z.describe('Name of a known speaker. Otherwise `SPEAKER_00` is the first one who speaks.')),
});
export type SpeakerDiarizationSegment = z.infer<typeof SpeakerDiarizationSegment>;

/** The result of `diarize`. */
export const SpeakerDiarizationOutput = answerOf(
  'speakers',
  z.strictObject({ segments: z.array(SpeakerDiarizationSegment) }),
);
export type SpeakerDiarizationOutput = z.infer<typeof SpeakerDiarizationOutput>;
