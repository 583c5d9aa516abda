import {
  answerOf,
  DETOKENIZE_FIELDS,
  resolveModel,
  TOKENIZE_FIELDS,
  tokenizeCall,
  tokenized,
  type TokenizeOutput,
} from '../../../openai/index.ts';
import { OPENAI_ROUTES } from '../../../openapi/index.ts';
import { allowedModels } from '../../guards/allowed-models.ts';
import { type HostRouter, serveRoute } from '../serve-route.ts';
import { type OpenAiHttpOptions, readJsonRequest, withinTime } from './openai-request.ts';

/** Adds `POST /v1/tokenize` and `POST /v1/detokenize`. */
export function tokenRoutes(router: HostRouter, options: OpenAiHttpOptions): void {
  serveRoute(router, OPENAI_ROUTES.tokenize, async ({ ctx }) => {
    const models = allowedModels(ctx, options.openai.models);
    const request = await readJsonRequest(ctx, TOKENIZE_FIELDS, options);
    const call = tokenizeCall(request, resolveModel(models, request.model, 'tokenize'));
    const output = await withinTime(ctx, options, (context) => answerOf(models, call, 'tokenize', context));
    return tokenized(output as TokenizeOutput, request);
  });
  serveRoute(router, OPENAI_ROUTES.detokenize, async ({ ctx }) => {
    const models = allowedModels(ctx, options.openai.models);
    const { model: named, tokens } = await readJsonRequest(ctx, DETOKENIZE_FIELDS, options);
    const { model } = resolveModel(models, named, 'tokenize');
    const output = await withinTime(ctx, options, (context) =>
      models.call(model.name, 'detokenize', { tokens }, context),
    );
    const { text } = output as { readonly text: string };
    return { prompt: text, content: text };
  });
}
