import * as z from 'zod';
import type { ChatChoice, ChatOutputWithDetails, ChoiceDetails } from '../../../base/schemas/index.ts';
import { AnswerLogprobs, FinishReason, type LogprobsOf, logprobsOf, Quotations, Usage } from '../text/answer-values.ts';
import { type AnswerHead, usageOf } from '../text/values.ts';
import { ToolCall, toolCall } from './call-shapes.ts';
import type { CustomNames } from './custom-calls.ts';

const Message = z.object({
  role: z.literal('assistant'),
  content: z.string().nullable(),
  refusal: z.null(),
  reasoning_content: z.string().optional(),
  tool_calls: z.array(ToolCall).optional(),
  quotations: Quotations,
});

/** The answer of `POST /v1/chat/completions`. */
export const ChatCompletion = z.object({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int().describe('Seconds since the epoch.'),
  model: z.string(),
  choices: z.array(
    z.object({ index: z.int(), message: Message, logprobs: AnswerLogprobs.nullable(), finish_reason: FinishReason }),
  ),
  usage: Usage.optional(),
});
export type ChatCompletion = z.input<typeof ChatCompletion>;

/** What an answer depends on beside the model's text. */
export interface AnswerOptions {
  /** The beginning of each text that the request itself gave. */
  readonly prefix: string;
  readonly customNames: CustomNames;
}

/** Returns the answer. */
export function chatCompletion(
  head: AnswerHead,
  { message, details, choices }: ChatOutputWithDetails,
  options: AnswerOptions,
): ChatCompletion {
  const all: readonly ChatChoice[] = choices ?? [{ message, ...(details && { details }) }];
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: all.map((choice, index) => ({
      index,
      message: messageOf(choice, options),
      logprobs: logprobsOf(choice.details?.logprobs) satisfies LogprobsOf,
      finish_reason: finishReasonOf(choice),
    })),
    ...(details && { usage: usageOf(details) }),
  };
}

function messageOf(
  { message: { content, reasoning_content: reasoning, tool_calls: calls }, details }: ChatChoice,
  { prefix, customNames }: AnswerOptions,
): z.input<typeof Message> {
  const text = content.startsWith(prefix) ? content.slice(prefix.length) : content;
  return {
    role: 'assistant',
    content: text === '' && calls?.length ? null : text,
    refusal: null,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(calls?.length && { tool_calls: calls.map((call) => toolCall(call, customNames)) }),
    ...(details?.quotations && { quotations: details.quotations }),
  };
}

const finishReasonOf = ({ message, details }: ChatChoice): NonNullable<ChoiceDetails['finish_reason']> =>
  details?.finish_reason ?? (message.tool_calls?.length ? 'tool_calls' : 'stop');
