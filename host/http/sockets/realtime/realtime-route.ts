import {
  errorEvent,
  firstSettings,
  identified,
  RealtimeQuery,
  RealtimeServerEvent,
  resolveModel,
  type SessionSettings,
} from '../../../openai/index.ts';
import type { RouteDefinition } from '../../../openapi/index.ts';
import { allowedModels } from '../../guards/allowed-models.ts';
import { clientSecretOf } from '../../guards/client-secret-guard.ts';
import { queryReader } from '../../request/query.ts';
import type { OpenAiHttpOptions } from '../../routes/openai/openai-request.ts';
import type { SocketRoute } from '../socket-route.ts';
import { RealtimeSession } from './realtime-session.ts';

/** The WebSocket of OpenAI's realtime API. */
const REALTIME_ROUTE = {
  id: 'realtime',
  method: 'get',
  path: '/v1/realtime',
  summary: 'A WebSocket for transcription sessions of OpenAI’s realtime API',
  tag: 'openai',
  query: RealtimeQuery,
  idle: {},
  answers: {
    101: {
      description:
        'The WebSocket is open. Both sides send texts: the client the events `session.update` and `input_audio_buffer.append`, `.commit` and `.clear`, and the server the events of this schema.',
      schema: RealtimeServerEvent,
    },
  },
  fails: [400, 401, 403, 404, 426, 429, 503],
} as const satisfies RouteDefinition;

/** The WebSocket of OpenAI's realtime API, for transcription sessions. */
export function realtimeRoute({ openai, limits }: Pick<OpenAiHttpOptions, 'openai' | 'limits'>): SocketRoute {
  const readQuery = queryReader(REALTIME_ROUTE.query);
  return {
    definition: REALTIME_ROUTE,
    subprotocol: 'realtime',
    accept(ctx) {
      const { model } = readQuery(ctx);
      const models = allowedModels(ctx, openai.models);
      if (model !== undefined) resolveModel(models, model, 'realtime');
      const session = clientSecretOf(ctx)?.session as SessionSettings | undefined; // the host has checked and sealed it
      const settings = firstSettings(model, session);
      const options = { models, settings, strict: openai.strict, limits };
      return (channel) => new RealtimeSession(channel, options).run();
    },
    errorMessage: (thrown) => identified(errorEvent(thrown)),
  };
}
