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
  responses: z
    .strictObject({
      store: z
        .boolean()
        .default(true)
        .describe(
          'Whether responses are stored, unless a request has `"store": false`. Otherwise a request that asks for it is refused.',
        ),
      retention: z
        .number()
        .min(0)
        .max(31_536_000)
        .default(2_592_000)
        .describe(
          'Time for which the host keeps a response after it was stored or continued, in seconds; 0 keeps it without limit.',
        ),
      maximum_stored_bytes_per_user: z
        .int()
        .min(0)
        .default(2 ** 30)
        .describe(
          'Most bytes of responses and their inputs that one user keeps. Those that were not used for longest are removed. 0 is no limit. Without API keys, all callers are one user.',
        ),
    })
    .prefault({})
    .describe('The stored responses of `/v1/responses`.'),
});
