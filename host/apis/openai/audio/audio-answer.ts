import * as z from 'zod';
import type { AsrOutput } from '../../../base/schemas/index.ts';
import {
  DiarizedTranscription,
  toDiarizedJson,
  toVerboseJson,
  transcriptFile,
  VerboseTranscription,
} from '../../../base/transcripts/index.ts';
import { includesLogprobs, type TranscriptionRequest, type TranslationRequest } from './audio-fields.ts';
import { TranscriptLogprob, transcriptLogprobs } from './transcript-logprobs.ts';
import { VerboseSegment, verboseSegment } from './verbose-segments.ts';

const usage = z.object({
  type: z.literal('duration'),
  seconds: z.int().describe('Seconds of the audio, rounded up.'),
});

const Text = z.object({ text: z.string(), usage });
const Json = Text.extend({
  logprobs: z.array(TranscriptLogprob).optional().describe('The tokens of the text, with `include`.'),
});
const Verbose = z.object({
  ...VerboseTranscription.shape,
  segments: z.array(VerboseSegment).optional(),
  usage,
});
const Diarized = z.object({ ...DiarizedTranscription.shape, usage });

/** The answers of `POST /v1/audio/transcriptions` that are JSON: `json`, `verbose_json` and `diarized_json`. */
export const TranscriptionAnswer = z.union([Verbose, Diarized, Json]);
/** The answers of `POST /v1/audio/translations` that are JSON: `json` and `verbose_json`. */
export const TranslationAnswer = z.union([Verbose, Text]);

/** Facts about the audio of a request. */
export interface HeardAudio {
  /** Seconds. */
  readonly duration: number;
}

/** Returns the answer to a request: an object, or the text of the forms that are text. */
export function transcriptionAnswer(
  request: TranscriptionRequest,
  output: AsrOutput,
  audio: HeardAudio,
): z.input<typeof TranscriptionAnswer> | string {
  const { response_format: format, timestamp_granularities: times } = request;
  if (format === 'diarized_json') return { ...toDiarizedJson(output, audio), usage: usageOf(audio) };
  if (format !== 'verbose_json') {
    const answer = plainAnswer(format, output, audio);
    const isAsked = typeof answer !== 'string' && includesLogprobs(request);
    return isAsked ? { ...answer, logprobs: transcriptLogprobs(output.segments, true) } : answer;
  }
  const { segments, words = [], ...facts } = verboseAnswer(output, audio, request);
  const wanted = times ?? ['segment'];
  return {
    ...facts,
    ...(wanted.includes('segment') && { segments }),
    ...(wanted.includes('word') && { words }),
  };
}

/** Returns the answer to a request for a translation: an object, or the text of the forms that are text. */
export function translationAnswer(
  request: TranslationRequest,
  output: AsrOutput,
  audio: HeardAudio,
): z.input<typeof TranslationAnswer> | string {
  const { response_format: format } = request;
  if (format !== 'verbose_json') return plainAnswer(format, output, audio);
  // The language is that of the text, as in OpenAI's API.
  return { ...verboseAnswer(output, audio, request), task: 'translate', language: 'english' };
}

function verboseAnswer(
  output: AsrOutput,
  audio: HeardAudio,
  { temperature }: TranscriptionRequest | TranslationRequest,
): z.input<typeof Verbose> {
  const { segments, ...facts } = toVerboseJson(output, audio);
  const tokens = output.segments.map((segment) => segment.tokens?.map(({ id }) => id) ?? []);
  return {
    ...facts,
    segments: segments.map((segment, index) => verboseSegment(segment, tokens[index] ?? [], temperature ?? 0)),
    usage: usageOf(audio),
  };
}

function plainAnswer(
  format: 'json' | 'text' | 'srt' | 'vtt' | null | undefined,
  output: AsrOutput,
  audio: HeardAudio,
): z.input<typeof Text> | string {
  if (format == null || format === 'json') return { text: output.transcription.text.trim(), usage: usageOf(audio) };
  return transcriptFile(format, output);
}

function usageOf({ duration }: HeardAudio): z.input<typeof usage> {
  return { type: 'duration', seconds: Math.ceil(duration) };
}
