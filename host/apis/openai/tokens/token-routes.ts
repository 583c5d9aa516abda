import { answers, RUN_FAILURES } from '../../openapi/index.ts';
import { answerOf } from '../model-call.ts';
import {
  DETOKENIZE_FIELDS,
  Detokenized,
  DetokenizeRequest,
  TOKENIZE_FIELDS,
  tokenizeCall,
  tokenized,
  Tokenized,
  type TokenizeOutput,
  TokenizeRequest,
} from './token-fields.ts';
import { resolveModel } from '../models/model-names.ts';
import { allowedModels } from '../../http/guards/allowed-models.ts';
import { type HostRouter, serveRoute } from '../../http/routes/serve-route.ts';
import { type OpenAiHttpOptions, readJsonRequest, withinTime } from '../http/openai-request.ts';

/** Adds `POST /v1/tokenize` and `POST /v1/detokenize`. */
export function tokenRoutes(router: HostRouter, options: OpenAiHttpOptions): void {
  serveRoute(
    router,
    {
      id: 'tokenize',
      at: 'post /v1/tokenize',
      alsoAt: ['/tokenize'],
      summary: 'The tokens of a text or a dialog, as in vLLM and llama-server; also at /tokenize, as there',
      body: TokenizeRequest,
      idle: TOKENIZE_FIELDS.idle,
      answers: answers('The tokens.', Tokenized),
      fails: RUN_FAILURES,
    },
    async ({ ctx }) => {
      const models = allowedModels(ctx, options.openai.models);
      const request = await readJsonRequest(ctx, TOKENIZE_FIELDS, options);
      const call = tokenizeCall(request, resolveModel(models, request.model, 'tokenize'));
      const output = await withinTime(ctx, options, (context) => answerOf(models, call, 'tokenize', context));
      return tokenized(output as TokenizeOutput, request);
    },
  );
  serveRoute(
    router,
    {
      id: 'detokenize',
      at: 'post /v1/detokenize',
      alsoAt: ['/detokenize'],
      summary: 'The text of tokens, as in vLLM and llama-server; also at /detokenize, as there',
      body: DetokenizeRequest,
      idle: DETOKENIZE_FIELDS.idle,
      answers: answers('The text.', Detokenized),
      fails: RUN_FAILURES,
    },
    async ({ ctx }) => {
      const models = allowedModels(ctx, options.openai.models);
      const { model: named, tokens } = await readJsonRequest(ctx, DETOKENIZE_FIELDS, options);
      const { model } = resolveModel(models, named, 'tokenize');
      const output = await withinTime(ctx, options, (context) =>
        models.call(model.name, 'detokenize', { tokens }, context),
      );
      const { text } = output as { readonly text: string };
      return { prompt: text, content: text };
    },
  );
}
