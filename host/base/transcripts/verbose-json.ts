import * as z from 'zod/mini';
import type { AsrOutput, AsrSegment } from '../schemas/index.ts';
import { LANGUAGE_NAMES } from './language-names.ts';

const seconds = z.number().check(z.minimum(0));

/** A transcript in the shape of OpenAI's `verbose_json`. Facts that are unknown are absent. */
export const VerboseTranscription = z.strictObject({
  task: z.enum(['transcribe', 'translate']),
  language: z.string().check(z.describe('English name of the language, such as "german", or "silence".')),
  duration: z.optional(seconds.check(z.describe('Seconds of the audio.'))),
  text: z.string(),
  segments: z.array(
    z.strictObject({
      id: z.int().check(z.minimum(0)),
      start: seconds,
      end: seconds,
      text: z.string().check(z.describe('The text, with its leading space.')),
      avg_logprob: z.optional(z.number().check(z.maximum(0))),
      no_speech_prob: z.optional(z.number().check(z.minimum(0), z.maximum(1))),
    }),
  ),
  words: z.optional(z.array(z.strictObject({ word: z.string(), start: seconds, end: seconds }))),
});
export type VerboseTranscription = z.infer<typeof VerboseTranscription>;

/** Facts about the audio of a transcript. */
export interface AudioFacts {
  /** Seconds. */
  readonly duration?: number | undefined;
}

/** What a model did with speech: "translate" wrote English. */
export type SpeechTask = VerboseTranscription['task'];

/** Returns a transcript in the shape of OpenAI's `verbose_json`. `words` are there if the transcript has them. */
export function toVerboseJson(
  { segments, transcription, transcription_info: { language } }: AsrOutput,
  { duration }: AudioFacts = {},
  task: SpeechTask = 'transcribe',
): VerboseTranscription {
  const words = segments.flatMap((segment) => segment.words);
  return {
    task,
    language: LANGUAGE_NAMES.get(language) ?? language,
    ...(duration !== undefined && { duration }),
    text: transcription.text.trim(),
    segments: segments.map(({ time_interval: { start, end }, text, ...segment }, id) => ({
      id,
      start,
      end,
      text,
      ...scoresOf(segment),
    })),
    ...(words.length > 0 && {
      words: words.map(({ word, time_interval: { start, end } }) => ({ word: word.trim(), start, end })),
    }),
  };
}

/** The confidence of a segment is the geometric mean of the probabilities of its tokens. */
function scoresOf({
  confidence,
  no_speech_confidence: noSpeech,
}: Pick<AsrSegment, 'confidence' | 'no_speech_confidence'>): {
  avg_logprob?: number;
  no_speech_prob?: number;
} {
  return {
    ...(confidence !== null && confidence > 0 && { avg_logprob: Math.log(confidence) }),
    ...(noSpeech !== null && { no_speech_prob: noSpeech }),
  };
}
