import type { RouteGroup } from '../http/options.ts';
import { HttpError } from '../http/response/error-body.ts';
import { audioRoutes } from './audio/audio-routes.ts';
import { batchesRoutes } from './batches/batches-routes.ts';
import { chatRoute } from './chat/chat-route.ts';
import { clientSecretsRoute } from './realtime/client-secrets-route.ts';
import { completionsRoute } from './completions/completions-route.ts';
import { filesRoutes } from './files/files-routes.ts';
import { modelRoutes, type OtherModels } from './models/models-routes.ts';
import type { OpenAiRoutesOptions } from './http/openai-options.ts';
import { originalChatRoute } from './chat/original-chat-route.ts';
import { responsesRoute } from './responses/responses-route.ts';
import { storedResponsesRoutes } from './responses/stored/stored-responses-routes.ts';
import { tokenRoutes } from './tokens/token-routes.ts';
import { uploadsRoutes } from './uploads/uploads-routes.ts';
import { storeFilesRoutes } from './vector-stores/store-files-routes.ts';
import { storeRoutes } from './vector-stores/store-routes.ts';
import { vectorRoutes } from './vectors/vector-routes.ts';

/** Returns the routes of OpenAI's API, or routes that say that they are off. */
export function openAiRoutes(openai: OpenAiRoutesOptions, otherModels: OtherModels): RouteGroup {
  return (router, http) => {
    const options = { ...http, openai };
    if (!openai.enabled) {
      const message = 'The OpenAI-compatible endpoint is not enabled.';
      router.all('/v1/{*path}', () => {
        throw new HttpError('NotFound', message);
      });
      router.all('/chat/completions', (ctx) => {
        ctx.status = 404;
        ctx.body = { error: { message } };
      });
      return;
    }
    modelRoutes(router, options, otherModels);
    chatRoute(router, options);
    responsesRoute(router, options);
    storedResponsesRoutes(router, options);
    completionsRoute(router, options);
    tokenRoutes(router, options);
    originalChatRoute(router, options);
    vectorRoutes(router, options);
    audioRoutes(router, options);
    filesRoutes(router, options);
    uploadsRoutes(router, options);
    batchesRoutes(router, options);
    storeRoutes(router, options);
    storeFilesRoutes(router, options);
    clientSecretsRoute(router, options);
  };
}
