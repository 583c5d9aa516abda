import * as z from 'zod';
import { errorEvent } from './turns.ts';
import { firstSettings, type SessionSettings } from './session.ts';
import { identified, RealtimeServerEvent } from './server-events.ts';
import { resolveModel } from '../models/model-names.ts';
import type { RouteDefinition } from '../../openapi/index.ts';
import { allowedModels } from '../../http/guards/allowed-models.ts';
import { clientSecretOf } from '../../http/guards/client-secret-guard.ts';
import { queryReader } from '../../http/request/query.ts';
import type { OpenAiHttpOptions } from '../http/openai-request.ts';
import type { SocketRoute } from '../../http/sockets/socket-route.ts';
import { RealtimeSession } from './realtime-session.ts';

/** The query of `GET /v1/realtime`. */
const RealtimeQuery = z.strictObject({
  intent: z
    .enum(['transcription'], 'Input should be transcription: this server has no sessions of speech to speech')
    .optional()
    .describe('Every session is a transcription.'),
  model: z
    .string()
    .max(1000)
    .optional()
    .describe('A deployment of speech to text, an alias, or the id of a model. Default: that of `session.update`.'),
});

/** The WebSocket of OpenAI's realtime API. */
const REALTIME_ROUTE = {
  id: 'realtime',
  at: 'get /v1/realtime',
  summary: 'A WebSocket for transcription sessions of OpenAI’s realtime API',
  query: RealtimeQuery,
  idle: {},
  answers: {
    101: {
      description:
        'The WebSocket is open. Both sides send texts: the client the events `session.update` and ' +
        '`input_audio_buffer.append`, `.commit` and `.clear`, and the server the events of this schema.',
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
