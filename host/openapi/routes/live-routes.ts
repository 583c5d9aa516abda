import * as z from 'zod';
import { RealtimeQuery, RealtimeServerEvent } from '../../openai/index.ts';
import { LiveResult } from '../../schemas/index.ts';
import type { RouteDefinition } from '../route-definition.ts';

const End = z.object({ type: z.literal('end') }).describe('All audio was transcribed. The socket closes.');

const Failure = z
  .object({
    type: z.literal('error'),
    error: z.string().describe('Class of the error.'),
    message: z.string().describe('For people.'),
    data: z.unknown().describe('Facts about the error.'),
    stacktrace: z.string().nullable(),
  })
  .describe('The transcription failed. The socket closes.');

/** The WebSocket of live transcription. */
export const LIVE_ROUTE = {
  id: 'transcribe_live',
  method: 'get',
  path: '/asr/live',
  summary: 'A WebSocket that transcribes speech while it comes',
  tag: 'live',
  query: z.strictObject({
    deployment: z
      .string()
      .max(64)
      .optional()
      .describe('Name of a speech recognition deployment. Default: the only one that can do this.'),
    encoding: z
      .enum(['pcm_s16le', 'pcm_f32le'], 'Input should be pcm_s16le or pcm_f32le')
      .default('pcm_s16le')
      .describe('Of the mono samples in binary messages, little-endian: 16-bit integers, or 32-bit floats in [−1, 1].'),
    sample_rate: z.int().min(8000).max(48_000).default(16_000).describe('Samples per second.'),
    language: z
      .string()
      .max(32)
      .optional()
      .describe('Language code such as "en". Default: detected from the first words.'),
    task: z
      .enum(['transcribe', 'translate'], 'Input should be transcribe or translate')
      .default('transcribe')
      .describe('"translate" writes English, whatever the speech is in.'),
  }),
  answers: {
    101: {
      description:
        'The WebSocket is open. The client sends audio in binary messages, and the text `{"type":"end"}` after the last one. The server sends texts with the values of this schema.',
      schema: z.union([LiveResult, End, Failure]),
    },
  },
  fails: [400, 403, 404, 422, 426, 429, 503],
} as const satisfies RouteDefinition;

/** The WebSocket of OpenAI's realtime API. */
export const REALTIME_ROUTE = {
  id: 'realtime',
  method: 'get',
  path: '/v1/realtime',
  summary: 'A WebSocket for transcription sessions of OpenAI’s realtime API',
  tag: 'openai',
  query: RealtimeQuery,
  answers: {
    101: {
      description:
        'The WebSocket is open. Both sides send texts: the client the events `session.update` and `input_audio_buffer.append`, `.commit` and `.clear`, and the server the events of this schema.',
      schema: RealtimeServerEvent,
    },
  },
  fails: [400, 401, 403, 404, 426, 429, 503],
} as const satisfies RouteDefinition;
