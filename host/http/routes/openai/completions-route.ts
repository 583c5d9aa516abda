import type { Router } from '@koa/router';
import { flatMapped } from '../../../core/async/async-values.ts';
import { merged } from '../../../core/async/merged.ts';
import { boundedMap } from '../../../core/async/bounded-map.ts';
import {
  type Completed,
  COMPLETION_FIELDS,
  completionAnswer,
  CompletionChunks,
  completionPlan,
  newHead,
  type OnePrompt,
  resolveModel,
  usageChunk,
} from '../../../openai/index.ts';
import { OPENAI_ROUTES } from '../../../openapi/index.ts';
import type { GeneratedText, GenerationDetails, TextChunk } from '../../../schemas/index.ts';
import { allowedModels } from '../../guards/allowed-models.ts';
import { serveRoute } from '../serve-route.ts';
import { sendEvents } from './event-stream.ts';
import { type OpenAiHttpOptions, readJsonRequest, type RunContext, withinTime } from './openai-request.ts';

/** The values of `generate_stream`. */
type TextValues = AsyncIterable<TextChunk[], GenerationDetails | undefined>;

/** Prompts of one request that a model works on at the same time. */
const PROMPTS_AT_ONCE = 16;

/** Adds `POST /v1/completions`. */
export function completionsRoute(router: Router, options: OpenAiHttpOptions): void {
  const { openai, limits, log } = options;
  serveRoute(router, OPENAI_ROUTES.completions, async ({ ctx }) => {
    const models = allowedModels(ctx, openai.models);
    const request = await readJsonRequest(ctx, COMPLETION_FIELDS, options);
    const resolved = resolveModel(models, request.model, 'completions');
    const { name } = resolved.model;
    const plan = completionPlan(request, resolved);
    const head = newHead('cmpl-', request.model);

    /** Returns the text of a prompt as far as the answer needs it. */
    const readPrompt = async (prompt: OnePrompt, context: RunContext): Promise<Omit<Completed, 'output'>> => {
      const { echo, logprobs } = plan;
      const textOf = async (tokens: readonly number[]): Promise<string> =>
        ((await models.call(name, 'detokenize', { tokens }, context)) as { text: string }).text;
      const text = !echo ? '' : typeof prompt === 'string' ? prompt : await textOf(prompt);
      if (!echo || !logprobs) return { prompt: text, firstToken: '' };
      if (typeof prompt !== 'string') return { prompt: text, firstToken: await textOf(prompt.slice(0, 1)) };
      const { texts } = (await models.call(name, 'tokenize', { text: prompt }, context)) as { texts: string[] };
      return { prompt: text, firstToken: texts[0] ?? '' };
    };

    return withinTime(ctx, options, async (context) => {
      if (request.stream !== true) {
        const all = await boundedMap(plan.prompts, PROMPTS_AT_ONCE, context.signal, async (prompt, signal) => {
          const one = { ...context, signal };
          const read = await readPrompt(prompt, one);
          const output = await models.call(name, 'generate', { ...plan.args, prompt, details: true }, one);
          return { ...read, output: output as GeneratedText };
        });
        return completionAnswer(head, plan, all);
      }
      const keepAliveMs = limits.stream_keep_alive_s * 1000;
      await sendEvents(ctx, { signal: context.signal, keepAliveMs, log }, async (send) => {
        const known: GenerationDetails[] = [];
        // A failure of one prompt, or a client that leaves, ends the work on the others.
        const ending = new AbortController();
        const one = { ...context, signal: AbortSignal.any([context.signal, ending.signal]) };
        const streams = plan.prompts.map(async function* (prompt, at) {
          const { prompt: text, firstToken } = await readPrompt(prompt, one);
          const chunks = new CompletionChunks(head, plan, at * plan.count, { text, firstToken });
          const values = models.stream(name, 'generate_stream', { ...plan.args, prompt }, one);
          const details = yield* flatMapped(values as TextValues, (batch) => [
            batch.flatMap((chunk) => chunks.of(chunk)),
          ]);
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
  });
}
