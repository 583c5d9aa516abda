import * as z from 'zod';
import type { GenerationDetails } from '../../../base/schemas/index.ts';
import { invalidValue, unsupported } from '../fields.ts';
import { listOf } from '../list-page.ts';
import { Usage } from '../text/answer-values.ts';
import { newHead, usageOf } from '../text/values.ts';
import { Item, OutputItem } from './items.ts';
import { isOwnTool, type ResponseRequest, ResponseTool, TextFormat, ToolChoice } from './response-fields.ts';

const ResponseUsage = z.object({
  input_tokens: z.int(),
  input_tokens_details: z.object({
    cached_tokens: z.int().describe('Tokens of the prompt that were computed for an earlier request.'),
    cache_write_tokens: z.int().describe('Always 0: nothing is paid for it.'),
    image_tokens: Usage.shape.prompt_tokens_details.shape.image_tokens,
  }),
  output_tokens: z.int().describe('With the reasoning.'),
  output_tokens_details: z.object({ reasoning_tokens: z.int() }),
  total_tokens: z.int(),
});
type ResponseUsage = z.input<typeof ResponseUsage>;

/** A response of OpenAI's API. */
export const ModelResponse = z.object({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.int().describe('Seconds since the epoch.'),
  completed_at: z.int().nullable(),
  status: z
    .enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'])
    .describe(
      '`incomplete`: a limit of tokens ended the answer. Without `background`, `failed` is only in events, and ' +
        '`queued` and `cancelled` do not occur.',
    ),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  incomplete_details: z.object({ reason: z.enum(['max_output_tokens', 'content_filter']) }).nullable(),
  model: z.string().describe('The name that the request gave.'),
  output: z.array(OutputItem),
  usage: ResponseUsage.nullable(),
  background: z.boolean(),
  store: z.boolean(),
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  max_output_tokens: z.int().nullable(),
  metadata: z.record(z.string(), z.string()),
  parallel_tool_calls: z.boolean(),
  prompt_cache_key: z.string().nullable(),
  reasoning: z.object({ effort: z.string().nullable(), summary: z.null() }),
  safety_identifier: z.string().nullable(),
  service_tier: z.literal('default'),
  temperature: z.number().nullable().describe('Null: the deployment has decided.'),
  text: z.object({ format: TextFormat }),
  tool_choice: ToolChoice,
  tools: z.array(ResponseTool),
  top_logprobs: z.int().nullable(),
  top_p: z.number().nullable(),
  truncation: z.enum(['auto', 'disabled']),
  user: z.string().nullable(),
});
export type ModelResponse = z.output<typeof ModelResponse>;

/** The answer of `DELETE /v1/responses/{response_id}`. */
export const DeletedResponse = z.object({
  id: z.string(),
  object: z.literal('response'),
  deleted: z.literal(true),
});

/** The answer of `GET /v1/responses/{response_id}/input_items`. */
export const ItemList = listOf(Item);

/** The answer of `POST /v1/responses/input_tokens`. */
export const InputTokens = z.object({ object: z.literal('response.input_tokens'), input_tokens: z.int() });

/**
 * Returns the response to a request before its answer has begun. Throws an error for a request that asks to be stored
 * where `isStoring` is false, and for one in the background that is not to be stored.
 */
export function newResponse(request: ResponseRequest, isStoring: boolean): ModelResponse {
  if (request.store === true && !isStoring) throw unsupported('store', 'this server stores no responses');
  const isBackground = request.background === true;
  const store = isStoring && request.store !== false;
  if (isBackground && !store)
    throw isStoring
      ? invalidValue('background', 'a response in the background is stored, so store must not be false')
      : unsupported('background', 'this server stores no responses');
  const { id, created, model } = newHead('resp_', request.model);
  return {
    id,
    object: 'response',
    created_at: created,
    completed_at: null,
    status: isBackground ? 'queued' : 'in_progress',
    error: null,
    incomplete_details: null,
    model,
    output: [],
    usage: null,
    background: isBackground,
    store,
    previous_response_id: request.previous_response_id ?? null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    metadata: request.metadata ?? {},
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    prompt_cache_key: request.prompt_cache_key ?? null,
    reasoning: { effort: request.reasoning?.effort ?? null, summary: null },
    safety_identifier: request.safety_identifier ?? null,
    service_tier: 'default',
    temperature: request.temperature ?? null,
    text: { format: request.text?.format ?? { type: 'text' } },
    tool_choice: request.tool_choice ?? 'auto',
    tools: (request.tools ?? []).filter(isOwnTool),
    top_logprobs: request.top_logprobs ?? null,
    top_p: request.top_p ?? null,
    truncation: request.truncation ?? 'disabled',
    user: request.user ?? null,
  };
}

/** Returns how many tokens a turn of the model took. */
export function responseUsageOf(details: GenerationDetails): ResponseUsage {
  const usage = usageOf(details);
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: { ...usage.prompt_tokens_details, cache_write_tokens: 0 },
    output_tokens: usage.completion_tokens,
    output_tokens_details: usage.completion_tokens_details ?? { reasoning_tokens: 0 },
    total_tokens: usage.total_tokens,
  };
}

/** Returns what several turns of the model took together. */
export function sumOfUsages(one: ResponseUsage | null, other: ResponseUsage): ResponseUsage {
  if (!one) return other;
  const { input_tokens_details: input, output_tokens_details: output } = one;
  return {
    input_tokens: one.input_tokens + other.input_tokens,
    input_tokens_details: {
      ...other.input_tokens_details,
      ...(input.image_tokens !== undefined && {
        image_tokens: input.image_tokens + (other.input_tokens_details.image_tokens ?? 0),
      }),
      cached_tokens: input.cached_tokens + other.input_tokens_details.cached_tokens,
    },
    output_tokens: one.output_tokens + other.output_tokens,
    output_tokens_details: {
      reasoning_tokens: output.reasoning_tokens + other.output_tokens_details.reasoning_tokens,
    },
    total_tokens: one.total_tokens + other.total_tokens,
  };
}
