import * as z from 'zod';
import type { ChatChoice, ChatOutputWithDetails, ChoiceDetails } from '../../schemas/index.ts';
import { AnswerLogprobs, FinishReason, type LogprobsOf, logprobsOf, Usage } from '../text/answer-values.ts';
import { type AnswerHead, usageOf } from '../text/values.ts';

const ToolCall = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

const Message = z.object({
  role: z.literal('assistant'),
  content: z.string().nullable(),
  refusal: z.null(),
  reasoning_content: z.string().optional(),
  tool_calls: z.array(ToolCall).optional(),
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

/** Returns the answer. `prefix` is the beginning of the text that the request itself gave. */
export function chatCompletion(
  head: AnswerHead,
  { message, details, choices }: ChatOutputWithDetails,
  prefix: string,
): ChatCompletion {
  const all: readonly ChatChoice[] = choices ?? [{ message, ...(details && { details }) }];
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: all.map((choice, index) => ({
      index,
      message: messageOf(choice.message, prefix),
      logprobs: logprobsOf(choice.details?.logprobs) satisfies LogprobsOf,
      finish_reason: finishReasonOf(choice),
    })),
    ...(details && { usage: usageOf(details) }),
  };
}

function messageOf(
  { content, reasoning_content: reasoning, tool_calls: calls }: ChatChoice['message'],
  prefix: string,
): z.input<typeof Message> {
  const text = content.startsWith(prefix) ? content.slice(prefix.length) : content;
  return {
    role: 'assistant',
    content: text === '' && calls?.length ? null : text,
    refusal: null,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(calls?.length && { tool_calls: calls }),
  };
}

const finishReasonOf = ({ message, details }: ChatChoice): NonNullable<ChoiceDetails['finish_reason']> =>
  details?.finish_reason ?? (message.tool_calls?.length ? 'tool_calls' : 'stop');
