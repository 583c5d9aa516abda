import * as z from 'zod/mini';
import { Artifact } from './artifact.ts';

/** Seconds from the start of the media. */
export const TimeInterval = z.strictObject({
  start: z.number().check(z.minimum(0), z.describe('Start in seconds.')),
  end: z.number().check(z.minimum(0), z.describe('End in seconds.')),
});
export type TimeInterval = z.infer<typeof TimeInterval>;

const confidence = z.number().check(z.minimum(0), z.maximum(1));

export const AsrWord = z.strictObject({
  word: z.string().check(z.describe('The word, with its leading space.')),
  speaker: z.nullable(z.string()),
  time_interval: TimeInterval,
  alignment_confidence: confidence,
});
export type AsrWord = z.infer<typeof AsrWord>;

export const AsrSegment = z.strictObject({
  text: z.string().check(z.describe('The text, with its leading space.')),
  time_interval: TimeInterval,
  confidence: z.nullable(confidence),
  no_speech_confidence: z.nullable(confidence),
  words: z.array(AsrWord),
  speaker: z.nullable(z.string()),
});
export type AsrSegment = z.infer<typeof AsrSegment>;

export const AsrTranscriptionInfo = z.strictObject({
  language: z.string().check(z.describe('Language code, or "silence" when there is no speech.')),
  language_confidence: confidence,
});
export type AsrTranscriptionInfo = z.infer<typeof AsrTranscriptionInfo>;

export const AsrTranscription = z.strictObject({ text: z.string().check(z.describe('The full text.')) });
export type AsrTranscription = z.infer<typeof AsrTranscription>;

/** The result of `transcribe` and of `/video/transcribe`. */
export const AsrOutput = z.strictObject({
  segments: z.array(AsrSegment),
  transcription_info: AsrTranscriptionInfo,
  transcription: AsrTranscription,
});
export type AsrOutput = z.infer<typeof AsrOutput>;

const temperature = z.number().check(z.minimum(0), z.maximum(1));

const optionalNumber = (minimum: number, maximum: number, description: string) =>
  z.optional(z.nullable(z.number().check(z.minimum(minimum), z.maximum(maximum), z.describe(description))));

export const WhisperParams = z.strictObject({
  language: z.optional(
    z.nullable(z.string().check(z.describe('Language code such as "en". Default: detected from the speech.'))),
  ),
  task: z._default(
    z.enum(['transcribe', 'translate']).check(z.describe('"translate" writes English, whatever the speech is in.')),
    'transcribe',
  ),
  initial_prompt: z.optional(
    z.nullable(
      z
        .string()
        .check(
          z.maxLength(4000),
          z.describe('Text before each part of the speech. Names and terms are written as they stand there.'),
        ),
    ),
  ),
  beam_size: z._default(
    z.int().check(z.minimum(1), z.maximum(8), z.describe('Number of beams of the search; 1 is greedy and faster.')),
    1,
  ),
  best_of: z._default(
    z.int().check(z.minimum(1), z.maximum(8), z.describe('Number of candidates if the temperature is above 0.')),
    5,
  ),
  temperature: z._default(
    z
      .union([temperature, z.array(temperature).check(z.minLength(1), z.maxLength(16))])
      .check(
        z.describe('Sampling temperature, or a list of temperatures that are tried in turn while a text is unlikely.'),
      ),
    [0, 0.2, 0.4, 0.6, 0.8, 1],
  ),
  log_prob_threshold: optionalNumber(
    -100,
    0,
    'A text whose tokens have a lower mean log-probability is unlikely, and the next temperature is tried. Default: -1.',
  ),
  no_speech_threshold: optionalNumber(
    0,
    1,
    'An unlikely text is left out where the probability that nobody speaks is higher. Default: 0.6.',
  ),
  length_penalty: optionalNumber(
    0,
    10,
    'The score of a beam is divided by its length to this power. Default: divided by its length.',
  ),
  max_initial_timestamp: optionalNumber(0, 30, 'Latest start of the first segment of a part, in seconds. Default: 1.'),
  without_timestamps: z._default(
    z.boolean().check(z.describe('Take the times of segments from the windows of speech.')),
    false,
  ),
  word_timestamps: z._default(z.boolean().check(z.describe('Times of each word.')), false),
  vad_filter: z._default(z.boolean().check(z.describe('Transcribe only the parts with voice activity.')), true),
  channels: z._default(
    z
      .enum(['mix', 'separate'])
      .check(z.describe('"separate" transcribes each channel on its own and names the channel in `speaker`.')),
    'mix',
  ),
});
export type WhisperParams = z.infer<typeof WhisperParams>;

/**
 * Decoded audio for a replica, in files, so that samples never cross a socket. Each channel is one artifact of raw
 * little-endian 32-bit floats in [−1, 1], mono, 16 kHz. A media without an audio track has no channels, or artifacts of
 * 0 bytes.
 */
export const AudioReference = z.strictObject({
  channels: z.array(z.strictObject({ artifact: Artifact, samples: z.int().check(z.minimum(0)) })),
  sample_rate: z.literal(16000),
});
export type AudioReference = z.infer<typeof AudioReference>;
