import { RUN_FAILURES } from '../../openapi/index.ts';
import { flatMapped } from '../../../base/core/async/async-values.ts';
import { merged } from '../../../base/core/async/merged.ts';
import { answerCompletion, completionRun, completionWish } from './completion-run.ts';
import { Completion } from './completion-answer.ts';
import { COMPLETION_FIELDS, CompletionRequest } from './completion-fields.ts';
import { CompletionChunk, CompletionChunks, usageChunk } from './completion-chunks.ts';
import { piecesOf } from '../model-call.ts';
import { withModel } from '../models/model-route.ts';
import type { GenerationDetails } from '../../../base/schemas/index.ts';
import { allowedModels } from '../../http/guards/allowed-models.ts';
import { type HostRouter, serveRoute } from '../../http/routes/serve-route.ts';
import { sendEvents } from '../http/event-stream.ts';
import { type OpenAiHttpOptions, readJsonRequest, withinTime } from '../http/openai-request.ts';

/** Adds `POST /v1/completions`. */
export function completionsRoute(router: HostRouter, options: OpenAiHttpOptions): void {
  const { openai, limits, log } = options;
  serveRoute(
    router,
    {
      id: 'create_completion',
      at: 'post /v1/completions',
      summary: 'Continues texts, as in OpenAI’s API',
      body: CompletionRequest,
      idle: COMPLETION_FIELDS.idle,
      answers: { 200: { description: 'The texts.', schema: Completion, events: CompletionChunk } },
      fails: RUN_FAILURES,
    },
    async ({ ctx }) => {
      const models = allowedModels(ctx, openai.models);
      const request = await readJsonRequest(ctx, COMPLETION_FIELDS, options);
      return withinTime(ctx, options, async (context) => {
        if (request.stream !== true) return answerCompletion(models, request, openai.strict, context);
        const keepAliveMs = limits.stream_keep_alive_s * 1000;
        await sendEvents(ctx, { signal: context.signal, keepAliveMs, log }, (send) =>
          withModel(models, completionWish(request), context, async (resolved, tried) => {
            const run = await completionRun(models, resolved, request, openai.strict, tried);
            const { plan, head, readPrompt, callFor } = run;
            const known: GenerationDetails[] = [];
            // A failure of one prompt, or a client that leaves, ends the work on the others.
            const ending = new AbortController();
            const one = { ...tried, signal: AbortSignal.any([tried.signal, ending.signal]) };
            const streams = plan.prompts.map(async function* (prompt, at) {
              const { prompt: text, firstToken } = await readPrompt(prompt, one);
              const chunks = new CompletionChunks(head, plan, at * plan.count, { text, firstToken });
              const values = piecesOf(models, callFor(prompt), 'generate_stream', one);
              const details = yield* flatMapped(values, (batch) => [batch.flatMap((chunk) => chunks.of(chunk))]);
              if (details) known.push(details);
              yield chunks.end(details);
            });
            try {
              for await (const [, events] of merged(streams)) {
                tried.begin?.(); // also before the end of an empty text
                await send(events);
              }
            } finally {
              ending.abort();
            }
            if (plan.includeUsage && known.length === plan.prompts.length) await send([usageChunk(head, plan, known)]);
          }),
        );
        return undefined;
      });
    },
  );
}
