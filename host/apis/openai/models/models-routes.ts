import type { Context } from 'koa';
import * as z from 'zod';
import { answers } from '../../openapi/index.ts';
import { describeModel, listModels, Model, ModelList } from './models.ts';
import { allowedModels } from '../../http/guards/allowed-models.ts';
import { type HostRouter, serveRoute } from '../../http/routes/serve-route.ts';
import type { OpenAiHttpOptions } from '../http/openai-request.ts';

/** The models in the shapes of another API, whose clients ask for them at the same paths. */
export interface OtherModels {
  /** Whether a request is from a client of the other API. */
  isAsked(ctx: Context): boolean;
  /** When an answer has the other shapes, for the OpenAPI document. */
  readonly whose: string;
  /** The query of the list. */
  readonly query: z.ZodObject;
  readonly page: { readonly schema: z.ZodType; of(models: z.input<typeof ModelList>, query: unknown): object };
  readonly model: { readonly schema: z.ZodType; of(model: z.input<typeof Model>): object };
}

/** Adds `GET /v1/models` and `GET /v1/models/{model}`, which answer clients of another API in its shapes. */
export function modelRoutes(router: HostRouter, options: OpenAiHttpOptions, other: OtherModels): void {
  const created = Math.floor(Date.now() / 1000);
  serveRoute(
    router,
    {
      id: 'list_models',
      at: 'get /v1/models',
      summary: 'The names of models that requests can give',
      query: other.query,
      answers: answers(`The models; ${other.whose}.`, z.union([ModelList, other.page.schema])),
      fails: [400],
    },
    ({ ctx, query }) => {
      const models = listModels(allowedModels(ctx, options.openai.models), created);
      return other.isAsked(ctx) ? other.page.of(models, query) : models;
    },
  );
  serveRoute(
    router,
    {
      id: 'retrieve_model',
      at: 'get /v1/models/{model}',
      summary: 'One model, with its state and what it can do',
      answers: answers(`The model; ${other.whose}.`, z.union([Model, other.model.schema])),
      fails: [404],
    },
    ({ ctx, params: { model: id } }) => {
      const model = describeModel(allowedModels(ctx, options.openai.models), id, created);
      return other.isAsked(ctx) ? other.model.of(model) : model;
    },
  );
}
