import * as z from 'zod';
import { MAX_TEXT, MAX_NAME } from '../../../base/schemas/index.ts';
import type { RequestFields } from '../fields.ts';

/** Characters that a prompt of Whisper can have. */
const MAX_PROMPT = 4000;

/** Speakers that a request may name, as in OpenAI's API. */
const MAX_KNOWN_SPEAKERS = 4;

const shared = {
  file: z
    .string()
    .meta({ format: 'binary' })
    .describe(
      'The part with the audio or the video: every form that ffmpeg reads, also without a file name extension.',
    ),
  model: z.string().min(1).max(MAX_NAME).describe('A deployment of speech to text, an alias, or the id of a model.'),
  prompt: z
    .nullish(z.string().max(MAX_PROMPT))
    .describe('Text before each part of the speech. Names and terms are written as they stand there.'),
  temperature: z
    .nullish(z.number().min(0).max(1))
    .describe('0, which is the default, begins at 0 and tries higher temperatures while a text is unlikely.'),
  hotwords: z.nullish(z.string().max(MAX_PROMPT)).describe('Words that are likely, as in vLLM and faster-whisper.'),
  vad_filter: z
    .nullish(z.boolean())
    .describe('Whether only the parts with voice activity are transcribed, as in faster-whisper. Default: true.'),
  audio_track: z
    .nullish(z.int().min(0).max(1000))
    .describe(
      'Number among the audio tracks of the file, from 0 on. Default: the track that the file marks as default, or ' +
        'the first one.',
    ),
};

/** Parameters of vLLM that have no effect. Values of forms are texts. */
const idle = {
  seed: { why: 'transcriptions are reproducible unless a higher temperature is tried' },
  top_p: { why: 'the search of Whisper has no such limit', neutral: ['1', '1.0'] },
  top_k: { why: 'the search of Whisper has no such limit', neutral: ['0', '-1'] },
  min_p: { why: 'the search of Whisper has no such limit', neutral: ['0', '0.0'] },
} as const satisfies RequestFields['idle'];

/** Longest duration of a setting for finding speech. */
const MAX_VAD_MS = 60_000;

const ServerVad = z.object({
  type: z.literal('server_vad'),
  threshold: z
    .nullish(z.number().min(0).max(1))
    .describe('Speech begins at this probability of a voice. Default: 0.5.'),
  prefix_padding_ms: z
    .nullish(z.number().min(0).max(MAX_VAD_MS))
    .describe('Audio before and after the speech that is transcribed with it. Default: 200.'),
  silence_duration_ms: z
    .nullish(z.number().min(0).max(MAX_VAD_MS))
    .describe('Shorter silence does not end speech. Default: 100.'),
});

/** The parameters of `POST /v1/audio/transcriptions` that have an effect. */
export const TranscriptionRequest = z.object({
  ...shared,
  language: z
    .nullish(z.string().max(MAX_NAME))
    .describe('Code of the language, such as `en`. Default: detected from the speech.'),
  response_format: z
    .nullish(z.enum(['json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json']))
    .describe('Default: `json`. `diarized_json` says who speaks and needs a deployment for speaker diarization.'),
  timestamp_granularities: z
    .nullish(
      z
        .array(z.enum(['word', 'segment']))
        .min(1)
        .max(16),
    )
    .describe('The times in `verbose_json`. Default: `segment`.'),
  stream: z
    .nullish(z.boolean())
    .describe('Sends each segment when it is final, as events. For `json`, `text` and `diarized_json`.'),
  include: z
    .nullish(z.array(z.literal('logprobs')).max(16))
    .describe('`logprobs` tells the tokens of the text with their log-probabilities. For `json`.'),
  known_speaker_names: z
    .nullish(z.array(z.string().max(MAX_TEXT)).max(MAX_KNOWN_SPEAKERS))
    .describe(
      'Names of up to four people, which take the places of letters in `diarized_json` where their voices are heard.',
    ),
  known_speaker_references: z
    .nullish(z.array(z.string().max(MAX_TEXT)).max(MAX_KNOWN_SPEAKERS))
    .describe(
      'The voice of each name: a data URL with 2 to 10 s of speech of this person alone, such as ' +
        '`data:audio/wav;base64,…`.',
    ),
  chunking_strategy: z
    .nullish(z.union([z.literal('auto'), ServerVad]))
    .describe('`auto` or `{type: server_vad}`. Speech is always found first; `server_vad` can say how.'),
});
export type TranscriptionRequest = z.output<typeof TranscriptionRequest>;

/** Whether the answer has the log-probabilities of tokens. */
export const includesLogprobs = ({ include }: TranscriptionRequest): boolean => include?.includes('logprobs') ?? false;

/** All parameters of `POST /v1/audio/transcriptions`. */
export const TRANSCRIPTION_FIELDS = { schema: TranscriptionRequest, idle } as const satisfies RequestFields;

/** The parameters of `POST /v1/audio/translations` that have an effect. */
export const TranslationRequest = z.object({
  ...shared,
  response_format: z.nullish(z.enum(['json', 'text', 'srt', 'verbose_json', 'vtt'])).describe('Default: `json`.'),
});
export type TranslationRequest = z.output<typeof TranslationRequest>;

/** All parameters of `POST /v1/audio/translations`. */
export const TRANSLATION_FIELDS = {
  schema: TranslationRequest,
  idle: {
    ...idle,
    language: { why: 'the language of the speech is detected', neutral: ['en'] },
    stream: { why: 'a translation is sent as a whole', neutral: ['false'] },
  },
} as const satisfies RequestFields;
