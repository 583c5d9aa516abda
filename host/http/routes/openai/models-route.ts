import type { Router } from '@koa/router';
import { describeModel, listModels } from '../../../openai/index.ts';
import { OPENAI_ROUTES } from '../../../openapi/index.ts';
import { allowedModels } from '../../guards/allowed-models.ts';
import { serveRoute } from '../serve-route.ts';
import type { OpenAiHttpOptions } from './openai-request.ts';

/** Adds `GET /v1/models` and `GET /v1/models/{model}`. */
export function modelRoutes(router: Router, options: OpenAiHttpOptions): void {
  const created = Math.floor(Date.now() / 1000);
  serveRoute(router, OPENAI_ROUTES.models, ({ ctx }) => listModels(allowedModels(ctx, options.openai.models), created));
  serveRoute(router, OPENAI_ROUTES.model, ({ ctx, params: { model } }) =>
    describeModel(allowedModels(ctx, options.openai.models), model, created),
  );
}
