import { fail, toErrorRecord } from '../../../core/errors.ts';
import { type JsonLimits, readJson } from '../../../core/json/read-json.ts';
import type { ModelDirectory } from '../../../openai/index.ts';
import { LIVE_ROUTE } from '../../../openapi/index.ts';
import type { EncodedAudio } from '../../../schemas/index.ts';
import { allowedModels } from '../../guards/allowed-models.ts';
import { queryReader } from '../../request/query.ts';
import { errorBody } from '../../response/error-body.ts';
import type { SocketMessage, SocketRoute } from '../socket-route.ts';
import { LIVE_METHOD, liveDeployment } from './live-deployment.ts';
import { type PcmFormat, PcmReader } from '../audio/pcm-reader.ts';

/** The WebSocket of live transcription: PCM in binary frames comes in, results as JSON go out. */
export function liveRoute(directory: ModelDirectory, limits: JsonLimits): SocketRoute {
  const readQuery = queryReader(LIVE_ROUTE.query);
  return {
    path: LIVE_ROUTE.path,
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
