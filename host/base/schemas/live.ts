import * as z from 'zod/mini';
import { AsrWord, TimeInterval, WhisperParams } from './asr.ts';

/** Most bytes of one part of live audio: 30 s of 32-bit floats at 16 kHz. */
export const MAX_LIVE_AUDIO_BYTES: number = 30 * 16_000 * 4;

/** A part of live audio, mono at 16 kHz, in the form in which replicas get it: samples as base64. */
export const EncodedAudio = z.strictObject({
  encoding: z
    .enum(['s16le', 'f32le'])
    .check(z.describe('16-bit integers, or 32-bit floats in [−1, 1], both little-endian.')),
  data: z.base64().check(z.maxLength(Math.ceil(MAX_LIVE_AUDIO_BYTES / 3) * 4)),
});
export type EncodedAudio = z.infer<typeof EncodedAudio>;

/** Parameters of live transcription. One beam by default, because each part of the speech is heard several times. */
export const LiveParams = z.extend(z.pick(WhisperParams, { language: true, task: true, initial_prompt: true }), {
  beam_size: z._default(
    z.int().check(z.minimum(1), z.maximum(8), z.describe('Number of beams of the search; 1 is greedy and faster.')),
    1,
  ),
});
export type LiveParams = z.infer<typeof LiveParams>;

/**
 * A result of live transcription. The texts of all finals, joined, are the transcript; a final is never taken back. A
 * partial has the words that were heard after the last final. It replaces the partial before it, and so does a final.
 */
export const LiveResult = z.strictObject({
  type: z.enum(['partial', 'final']),
  text: z.string().check(z.describe('The words, joined. Begins with a space where the language has spaces.')),
  words: z.array(AsrWord),
  time_interval: z
    .nullable(TimeInterval)
    .check(z.describe('From the first word to the last one, from the start of the stream; null without words.')),
  language: z.string().check(z.describe('Language code; empty in a partial while the language is not known.')),
  language_confidence: z.number().check(z.minimum(0), z.maximum(1)),
});
export type LiveResult = z.infer<typeof LiveResult>;

/** Parameters of live transcription in turns. */
export const LiveTurnParams = z.extend(LiveParams, {
  silence_s: z._default(
    z.number().check(z.minimum(0.2), z.maximum(60), z.describe('Silence that ends a turn, in seconds.')),
    0.5,
  ),
  threshold: z._default(
    z
      .number()
      .check(
        z.minimum(0),
        z.maximum(1),
        z.describe('Speech begins above this probability of a voice, and ends 0.15 below it.'),
      ),
    0.5,
  ),
  prefix_s: z._default(
    z
      .number()
      .check(z.minimum(0), z.maximum(5), z.describe('Audio before its speech that a turn has at most, in seconds.')),
    0.4,
  ),
});
export type LiveTurnParams = z.infer<typeof LiveTurnParams>;

/** Where a turn of the speaker begins or ends. The results between both have its words. */
export const LiveTurn = z.strictObject({
  type: z.enum(['speech_started', 'speech_stopped']),
  at: z
    .number()
    .check(
      z.minimum(0),
      z.describe('In seconds from the start of the stream. A turn has some silence before and after its speech.'),
    ),
});
export type LiveTurn = z.infer<typeof LiveTurn>;

/** A result of live transcription in turns. */
export const LiveTurnResult = z.union([LiveResult, LiveTurn]);
export type LiveTurnResult = z.infer<typeof LiveTurnResult>;
