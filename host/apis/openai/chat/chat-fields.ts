import * as z from 'zod';
import { chatOptions, Overflow, ResponseFormat, MAX_MESSAGES, anyObject } from '../../../base/schemas/index.ts';
import type { RequestFields } from '../fields.ts';
import { AdaptableModel, samplingFields } from '../text/sampling-fields.ts';
import { TEXT_IDLE } from '../text/idle-fields.ts';
import { VIDEO_IDLE, videoFields } from '../media/video-sampling.ts';
import { RequestMessage } from './messages.ts';
import { toolFields } from './tools.ts';

/** The parameters of `POST /v1/chat/completions` that have an effect. */
export const ChatRequest = z.object({
  model: AdaptableModel,
  messages: z
    .array(RequestMessage)
    .min(1)
    .max(MAX_MESSAGES)
    .describe(
      'Contents are texts, files that are text or PDF, audio of the user with the setting ' +
        '`openai.audio_input.deployment`, and reasoning of the assistant: parts `thinking` and `reasoning`.',
    ),
  stream: z.nullish(z.boolean()),
  stream_options: z
    .nullish(z.object({ include_usage: z.nullish(z.boolean()) }))
    .describe('`include_usage`: a last chunk has the usage.'),
  max_completion_tokens: z
    .nullish(z.int().min(1))
    .describe("Most tokens of the answer. Default: the deployment's, else the rest of the context."),
  response_format: z
    .nullish(ResponseFormat)
    .describe(
      'The form of a text. Calls of tools have that of their tool, so this and the other forms of an answer do not ' +
        'count where one is required.',
    ),
  logprobs: z.nullish(z.boolean()),
  top_logprobs: z.nullish(z.int().min(0).max(20)),
  reasoning_effort: z
    .nullish(z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']))
    .describe("An argument of the model's chat template; `none` also sets `enable_thinking` to false."),
  ...toolFields,
  ...samplingFields,
  chat_template_kwargs: z
    .nullish(anyObject)
    .describe("Arguments of the model's chat template, such as {enable_thinking: false}."),
  reasoning_format: chatOptions.reasoning_format,
  continue_final_message: z
    .nullish(z.boolean())
    .describe('Whether the answer goes on with the last message, which is of the assistant, as in vLLM.'),
  add_generation_prompt: z.nullish(z.boolean()).describe('False with `continue_final_message`, as in vLLM.'),
  overflow: z.nullish(Overflow),
  ...videoFields,
});
export type ChatRequest = z.output<typeof ChatRequest>;

/** All parameters of `POST /v1/chat/completions`. */
export const CHAT_FIELDS = {
  schema: ChatRequest,
  idle: {
    ...TEXT_IDLE,
    ...VIDEO_IDLE,
    modalities: { why: 'models answer text', neutral: [['text']] },
    audio: { why: 'models answer text' },
    prediction: { why: 'guesses come from the model (speculative_config)' },
    verbosity: { why: 'no model knows it', neutral: ['medium'] },
    web_search_options: { why: 'the server does not search the web' },
    functions: { why: 'use tools' },
    function_call: { why: 'use tool_choice', neutral: ['none', 'auto'] },
  },
} as const satisfies RequestFields;
