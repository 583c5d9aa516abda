import * as z from 'zod';
import { whole } from '../../../../base/core/fields.ts';
import { fail, toErrorRecord } from '../../../../base/core/errors.ts';
import { type JsonLimits, readJson } from '../../../../base/core/json/read-json.ts';
import type { ModelDirectory } from '../../../../inference/deployments/index.ts';
import type { RouteDefinition } from '../../../openapi/index.ts';
import { type EncodedAudio, LiveResult } from '../../../../base/schemas/index.ts';
import { allowedModels } from '../../guards/allowed-models.ts';
import { queryReader } from '../../request/query.ts';
import { errorBody } from '../../response/error-body.ts';
import type { SocketMessage, SocketRoute } from '../socket-route.ts';
import { LIVE_METHOD, liveDeployment } from './live-deployment.ts';
import { type PcmFormat, PcmReader } from '../audio/pcm-reader.ts';

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
const LIVE_ROUTE = {
  id: 'transcribe_live',
  at: 'get /asr/live',
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
    sample_rate: whole({ min: 8000, max: 48_000, default: 16_000 }, 'Samples per second.'),
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
        'The WebSocket is open. The client sends audio in binary messages, and the text `{"type":"end"}` after the ' +
        'last one. The server sends texts with the values of this schema.',
      schema: z.union([LiveResult, End, Failure]),
    },
  },
  fails: [400, 403, 404, 422, 426, 429, 503],
} as const satisfies RouteDefinition;

/** The WebSocket of live transcription: PCM in binary frames comes in, results as JSON go out. */
export function liveRoute(directory: ModelDirectory, limits: JsonLimits): SocketRoute {
  const readQuery = queryReader(LIVE_ROUTE.query);
  return {
    definition: LIVE_ROUTE,
    subprotocol: 'aana-live',
    accept(ctx) {
      const { deployment, encoding, sample_rate: sampleRate, ...params } = readQuery(ctx);
      const models = allowedModels(ctx, directory);
      const name = liveDeployment(models, deployment);
      return async ({ messages, context, send }) => {
        const audio = audioOf(messages, { encoding, sampleRate }, limits);
        for await (const results of models.stream(name, LIVE_METHOD, { audio, params }, context))
          for (const result of results) await send(result);
        await send({ type: 'end' });
      };
    },
    errorMessage: (thrown, includeStacktrace) => ({
      type: 'error',
      ...errorBody(toErrorRecord(thrown), includeStacktrace),
    }),
  };
}

/** Yields the audio of the client up to its end, at 16 kHz. */
async function* audioOf(
  messages: AsyncIterable<SocketMessage>,
  format: PcmFormat,
  limits: JsonLimits,
): AsyncGenerator<EncodedAudio> {
  const reader = new PcmReader(format);
  for await (const message of messages) {
    if (typeof message !== 'string') yield* reader.read(message);
    else if (isEnd(message, limits)) break;
    else throw fail('UnsupportedMessage', 'audio comes in binary messages, and the only text is {"type":"end"}');
  }
  yield* reader.end();
}

function isEnd(text: string, limits: JsonLimits): boolean {
  try {
    return (readJson(text, limits) as { readonly type?: unknown } | null)?.type === 'end';
  } catch {
    return false;
  }
}
