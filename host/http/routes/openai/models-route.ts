import { modelInfoOf, modelPage } from '../../../anthropic/index.ts';
import { describeModel, listModels } from '../../../openai/index.ts';
import { OPENAI_ROUTES } from '../../../openapi/index.ts';
import { allowedModels } from '../../guards/allowed-models.ts';
import { isFromAnthropicClient } from '../anthropic/anthropic-requests.ts';
import { type HostRouter, serveRoute } from '../serve-route.ts';
import type { OpenAiHttpOptions } from './openai-request.ts';

/** Adds `GET /v1/models` and `GET /v1/models/{model}`, which answer clients of Anthropic's API in its shapes. */
export function modelRoutes(router: HostRouter, options: OpenAiHttpOptions): void {
  const created = Math.floor(Date.now() / 1000);
  serveRoute(router, OPENAI_ROUTES.models, ({ ctx, query }) => {
    const models = listModels(allowedModels(ctx, options.openai.models), created);
    return isFromAnthropicClient(ctx) ? modelPage(models, query) : models;
  });
  serveRoute(router, OPENAI_ROUTES.model, ({ ctx, params: { model: id } }) => {
    const model = describeModel(allowedModels(ctx, options.openai.models), id, created);
    return isFromAnthropicClient(ctx) ? modelInfoOf(model) : model;
  });
}
