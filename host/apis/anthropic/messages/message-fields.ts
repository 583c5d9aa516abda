import * as z from 'zod';
import {
  AdaptableModel,
  type HostedPart,
  hostedParts,
  type RequestFields,
  samplingFields,
} from '../../openai/index.ts';
import type { IdleField } from '../../openapi/index.ts';
import { SamplingParams, MAX_TEXT, MAX_MESSAGES, MAX_CONTENT_PARTS, anyObject } from '../../../base/schemas/index.ts';
import { HostedBlock, MessageParam } from './content-blocks.ts';
import { TextBlock } from './text-blocks.ts';
import { HOSTED_TOOLS, toolFields } from './tools.ts';

const Thinking = z.discriminatedUnion('type', [
  z.object({ type: z.literal('enabled'), budget_tokens: z.int().min(1) }),
  z.object({ type: z.literal('adaptive') }),
  z.object({ type: z.literal('disabled') }),
]);

const OutputConfig = z.object({
  effort: z.nullish(z.enum(['low', 'medium', 'high', 'xhigh', 'max'])),
  format: z.nullish(z.object({ type: z.literal('json_schema'), schema: anyObject })),
});

/** What decides the prompt of an answer. */
const promptFields = {
  model: AdaptableModel,
  messages: z
    .array(MessageParam)
    .min(1)
    .max(MAX_MESSAGES)
    .describe(
      'Texts, calls of tools, their results, and thinking. The answer goes on with a last one of the assistant.',
    ),
  system: z
    .nullish(z.union([z.string().max(MAX_TEXT), z.array(TextBlock).max(MAX_CONTENT_PARTS)]))
    .describe('The system prompt.'),
  ...toolFields,
  thinking: z
    .nullish(Thinking)
    .describe(
      '`enabled` and `disabled` set the argument `enable_thinking` of the chat template; `adaptive` leaves it to ' +
        'the model. `budget_tokens` has no effect.',
    ),
  thread: z
    .optional(z.unknown())
    .describe('Refused, because the client sends the whole dialog; the official clients then do so by themselves.'),
  output_config: z
    .nullish(OutputConfig)
    .describe('`effort`: an argument of the chat template. `format`: a JSON Schema that the answer obeys.'),
} as const;

/** The parameters of `POST /v1/messages` that have an effect. */
export const MessagesRequest = z.object({
  ...promptFields,
  max_tokens: z.int().min(1).describe('Most tokens of the answer, with its thinking.'),
  stream: z.nullish(z.boolean()),
  stop_sequences: SamplingParams.shape.stop.check(z.describe('At most 16 texts that end the answer.')),
  temperature: samplingFields.temperature,
  top_p: samplingFields.top_p,
  top_k: samplingFields.top_k,
});
export type MessagesRequest = z.output<typeof MessagesRequest>;

/** The parameters of `POST /v1/messages/count_tokens` that have an effect. */
export const CountTokensRequest = z.object(promptFields);
export type CountTokensRequest = z.output<typeof CountTokensRequest>;

const hostedBlocks = ({ messages }: Pick<CountTokensRequest, 'messages'>): HostedPart[] =>
  messages.flatMap(({ content }, n) =>
    typeof content === 'string' ? [] : hostedParts(HostedBlock, content, ['messages', n, 'content']),
  );

const PROMPT_IDLE = {
  cache_control: { why: 'equal beginnings of prompts are found without it', isHarmless: true },
  user_profile_id: { why: 'the user of the API key counts', isHarmless: true },
  workspace_id: { why: 'the user of the API key counts', isHarmless: true },
  speed: { why: 'all requests are served alike', neutral: ['standard'] },
  mcp_servers: { why: 'the server calls no MCP servers', neutral: [[]] },
  context_management: { why: 'the client sends the dialog as the model reads it' },
} as const satisfies Readonly<Record<string, IdleField>>;

/** All parameters of `POST /v1/messages`. */
export const MESSAGES_FIELDS = {
  schema: MessagesRequest,
  hostedTools: HOSTED_TOOLS,
  hostedParts: hostedBlocks,
  idle: {
    ...PROMPT_IDLE,
    metadata: { why: 'the user of the API key counts', isHarmless: true },
    diagnostics: { why: 'the log of the server has them', isHarmless: true },
    service_tier: { why: 'all requests are served alike', neutral: ['auto', 'standard_only'] },
    container: { why: 'the server runs no code of models' },
    inference_geo: { why: 'the models run where the server runs' },
  },
} as const satisfies RequestFields;

/** All parameters of `POST /v1/messages/count_tokens`. */
export const COUNT_TOKENS_FIELDS = {
  schema: CountTokensRequest,
  hostedTools: HOSTED_TOOLS,
  hostedParts: hostedBlocks,
  idle: PROMPT_IDLE,
} as const satisfies RequestFields;
