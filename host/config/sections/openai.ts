import * as z from 'zod';

/** OpenAI's and Anthropic's APIs over the deployments. */
export const OpenAiConfig = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .describe(
      'Whether `/v1/…` and `/chat/completions` are served. See [openai-compatibility.md](openai-compatibility.md) and [anthropic-compatibility.md](anthropic-compatibility.md).',
    ),
  strict: z
    .boolean()
    .default(false)
    .describe(
      'Whether a parameter that has no effect here is refused. Otherwise the header `x-aana-ignored-parameters` names it.',
    ),
  aliases: z
    .record(z.string().min(1).max(255), z.string().min(1).max(255))
    .default({})
    .describe(
      'Further names of models, such as `{"gpt-4o-mini": "llm_deployment"}`. Each stands for a deployment, the id of a model, or one of these with `:adapter`.',
    ),
});
