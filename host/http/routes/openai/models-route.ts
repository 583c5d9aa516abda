import * as z from 'zod';
import { answers } from '../../../openapi/index.ts';
import { ModelInfo, modelInfoOf, ModelInfoPage, modelPage, ModelsQuery } from '../../../anthropic/index.ts';
import { describeModel, listModels, Model, ModelList } from '../../../openai/index.ts';
import { allowedModels } from '../../guards/allowed-models.ts';
import { isFromAnthropicClient } from '../anthropic/anthropic-requests.ts';
import { type HostRouter, serveRoute } from '../serve-route.ts';
import type { OpenAiHttpOptions } from './openai-request.ts';

/** Adds `GET /v1/models` and `GET /v1/models/{model}`, which answer clients of Anthropic's API in its shapes. */
export function modelRoutes(router: HostRouter, options: OpenAiHttpOptions): void {
  const created = Math.floor(Date.now() / 1000);
  serveRoute(
    router,
    {
      id: 'list_models',
      method: 'get',
      path: '/v1/models',
      summary: 'The names of models that requests can give',
      tag: 'openai',
      query: ModelsQuery,
      answers: answers(
        'The models; with the header `anthropic-version` in the shape of Anthropic’s API.',
        z.union([ModelList, ModelInfoPage]),
      ),
      fails: [400],
    },
    ({ ctx, query }) => {
      const models = listModels(allowedModels(ctx, options.openai.models), created);
      return isFromAnthropicClient(ctx) ? modelPage(models, query) : models;
    },
  );
  serveRoute(
    router,
    {
      id: 'retrieve_model',
      method: 'get',
      path: '/v1/models/{model}',
      summary: 'One model, with its state and what it can do',
      tag: 'openai',
      answers: answers(
        'The model; with the header `anthropic-version` in the shape of Anthropic’s API.',
        z.union([Model, ModelInfo]),
      ),
      fails: [404],
    },
    ({ ctx, params: { model: id } }) => {
      const model = describeModel(allowedModels(ctx, options.openai.models), id, created);
      return isFromAnthropicClient(ctx) ? modelInfoOf(model) : model;
    },
  );
}
