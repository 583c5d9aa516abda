import { RUN_FAILURES } from '../../openapi/index.ts';
import { flatMapped } from '../../../base/core/async/async-values.ts';
import { merged } from '../../../base/core/async/merged.ts';
import { answerCompletion, completionRun } from './completion-run.ts';
import { Completion } from './completion-answer.ts';
import { COMPLETION_FIELDS, CompletionRequest } from './completion-fields.ts';
import { CompletionChunk, CompletionChunks, usageChunk } from './completion-chunks.ts';
import { fillOf } from './fill.ts';
import { piecesOf } from '../model-call.ts';
import type { GenerationDetails } from '../../../base/schemas/index.ts';
import { allowedModels } from '../../http/guards/allowed-models.ts';
import { type HostRouter, serveRoute } from '../../http/routes/serve-route.ts';
import { sendEvents } from '../http/event-stream.ts';
import { addIgnored, type OpenAiHttpOptions, readJsonRequest, withinTime } from '../http/openai-request.ts';

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
        const fill = await fillOf(models, request, openai.strict, context);
        if (request.suffix && !fill) addIgnored(ctx, 'suffix');
        if (request.stream !== true) return answerCompletion(models, request, context, fill);
        const { name, plan, head, readPrompt } = completionRun(models, request);
        const keepAliveMs = limits.stream_keep_alive_s * 1000;
        await sendEvents(ctx, { signal: context.signal, keepAliveMs, log }, async (send) => {
          const known: GenerationDetails[] = [];
          // A failure of one prompt, or a client that leaves, ends the work on the others.
          const ending = new AbortController();
          const one = { ...context, signal: AbortSignal.any([context.signal, ending.signal]) };
          const streams = plan.prompts.map(async function* (prompt, at) {
            const { prompt: text, firstToken } = await readPrompt(prompt, one);
            const chunks = new CompletionChunks(head, plan, at * plan.count, { text, firstToken });
            const args = { ...plan.args, prompt: fill?.of(prompt) ?? prompt };
            const values = piecesOf(models, { name, args, blame: [plan.blame] }, 'generate_stream', one);
            const details = yield* flatMapped(values, (batch) => [batch.flatMap((chunk) => chunks.of(chunk))]);
            if (details) known.push(details);
            yield chunks.end(details);
          });
          try {
            for await (const [, events] of merged(streams)) await send(events);
          } finally {
            ending.abort();
          }
          if (plan.includeUsage && known.length === plan.prompts.length) await send([usageChunk(head, plan, known)]);
        });
        return undefined;
      });
    },
  );
}
