import * as z from 'zod';
import type { AnswerHead } from '../../openai/index.ts';
import type { ChatOutputWithDetails, ChoiceDetails, GenerationDetails } from '../../../base/schemas/index.ts';

export const StopReason = z
  .enum(['end_turn', 'stop_sequence', 'tool_use', 'max_tokens', 'model_context_window_exceeded', 'refusal'])
  .describe(
    '`end_turn`: the model ended. `model_context_window_exceeded`: the context is full. `refusal`: a server ' +
      'withheld the rest.',
  );
type StopReason = z.output<typeof StopReason>;

/** How many tokens a request took. */
export const Usage = z.object({
  input_tokens: z.int().describe('Tokens of the prompt that were computed for this request.'),
  cache_read_input_tokens: z.int().describe('Tokens of the prompt that were computed for an earlier request.'),
  cache_creation_input_tokens: z.literal(0).describe('Every prompt is kept for later requests, without a price.'),
  output_tokens: z.int().describe('Tokens of the answer, with its thinking.'),
  output_tokens_details: z.object({ thinking_tokens: z.int() }).optional(),
});
export type Usage = z.input<typeof Usage>;

/** The signature of reasoning, which is not signed. Clients do not send back reasoning that has none. */
export const SIGNATURE = 'unsigned';

/** A block of an answer. */
export const AnswerBlock = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('thinking'),
    thinking: z.string(),
    signature: z.string().describe('Always `unsigned`; empty at the beginning of a block in a stream.'),
  }),
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input: z.record(z.string(), z.unknown()) }),
]);
export type AnswerBlock = z.input<typeof AnswerBlock>;

/** The answer of `POST /v1/messages`. */
export const Message = z.object({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string().describe('The name that the request gave.'),
  content: z.array(AnswerBlock),
  stop_reason: StopReason.nullable().describe('Null only at the beginning of a stream.'),
  stop_sequence: z.string().nullable().describe('The text of `stop_sequences` that ended the answer.'),
  usage: Usage,
});
export type Message = z.input<typeof Message>;

/** The answer of `POST /v1/messages/count_tokens`. */
export const TokenCount = z.object({ input_tokens: z.int().describe('Tokens of the prompt.') });

/** What the request decides of an answer. */
export interface MessageOptions {
  readonly head: AnswerHead;
  /** The beginning of the text that the request itself gave. */
  readonly prefix: string;
  readonly maxTokens: number;
}

/** Returns the answer. */
export function messageOf(
  { message, details }: ChatOutputWithDetails,
  { head, prefix, maxTokens }: MessageOptions,
): Message {
  const { content, reasoning_content: thinking, tool_calls: calls = [] } = message;
  const text = content.startsWith(prefix) ? content.slice(prefix.length) : content;
  return {
    ...beginningOf(head),
    content: [
      ...(thinking ? [{ type: 'thinking' as const, thinking, signature: SIGNATURE }] : []),
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
      ...calls.map(({ id, function: { name, arguments: args } }) => ({
        type: 'tool_use' as const,
        id,
        name,
        input: inputOf(args),
      })),
    ],
    ...stopOf(details, { isCalling: calls.length > 0, maxTokens }),
    usage: usageOf(details),
  };
}

/** Returns an answer without content, as it is at the beginning of a stream. */
export function beginningOf({ id, model }: AnswerHead, promptTokens = 0): Message {
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usageOf(undefined), input_tokens: promptTokens },
  };
}

/** Returns why an answer ended, and which stop sequence ended it. */
export function stopOf(
  details: ChoiceDetails | undefined,
  { isCalling, maxTokens }: { readonly isCalling: boolean; readonly maxTokens: number },
): { readonly stop_reason: StopReason; readonly stop_sequence: string | null } {
  const { finish_reason: reason, stop_reason: stop = null, usage } = details ?? {};
  const isFull = usage !== undefined && usage.completion_tokens < maxTokens;
  const reasons: Readonly<Record<NonNullable<typeof reason>, StopReason>> = {
    stop: stop === null ? 'end_turn' : 'stop_sequence',
    length: isFull ? 'model_context_window_exceeded' : 'max_tokens',
    tool_calls: 'tool_use',
    content_filter: 'refusal',
  };
  return { stop_reason: reasons[reason ?? (isCalling ? 'tool_calls' : 'stop')], stop_sequence: stop };
}

/** Returns the usage; zeros where the deployment does not count tokens. */
export function usageOf(details: GenerationDetails | undefined): Usage {
  const {
    prompt_tokens: prompt = 0,
    cached_tokens: cached = 0,
    completion_tokens = 0,
    reasoning_tokens,
  } = details?.usage ?? {};
  return {
    input_tokens: prompt - cached,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0,
    output_tokens: completion_tokens,
    ...(reasoning_tokens !== undefined && { output_tokens_details: { thinking_tokens: reasoning_tokens } }),
  };
}

/** Returns the arguments of a call; none for a call that the limit of tokens has cut. */
function inputOf(args: string): Record<string, unknown> {
  try {
    return JSON.parse(args) as Record<string, unknown>;
  } catch {
    return {};
  }
}
