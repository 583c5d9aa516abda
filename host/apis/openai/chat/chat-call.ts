import { type Blame, blamed, paramThrough } from '../blame.ts';
import { invalidValue } from '../fields.ts';
import type { ModelCall } from '../model-call.ts';
import type { ResolvedModel } from '../models/model-names.ts';
import { formOf, samplingBlame, samplingOf } from '../text/sampling-fields.ts';
import type { ChatRequest } from './chat-fields.ts';
import { MediaParts } from '../media/media-part.ts';
import { videoSamplingOf } from '../media/video-sampling.ts';
import { dialogOf, type RequestMessage } from './messages.ts';
import { mustCall, toolArguments, toolBlame } from './tools.ts';

/** More tokens than any context holds: the answer may fill the rest of the context. */
const REST_OF_CONTEXT = 2 ** 31 - 1;

/** A chat request, which may be made of a request of another API. */
export type PromptedRequest = Omit<ChatRequest, 'messages'> & {
  messages: RequestMessage[];
  /** Where the parameters are in the request of the other API. */
  origins?: Blame;
};

/**
 * Returns the call of `chat` and `chat_stream` for a request. Its media, which `media` takes, are not opened yet.
 * Throws errors that name the wrong parameter of the client's request.
 */
export function chatCall(
  request: PromptedRequest,
  resolved: ResolvedModel,
  media: MediaParts = new MediaParts(resolved.model, 'images and audio are not opened for this request'),
): ModelCall {
  const origins = request.origins ?? {};
  try {
    const args = chatArguments(request, resolved, media);
    for (const part of media.parts) {
      part.param = paramThrough(part.param, [origins]);
      if ('sampling' in part) part.sampling = videoSamplingOf(request);
    }
    return { name: resolved.model.name, args, blame: [chatBlame(request), origins] };
  } catch (error) {
    throw blamed(error, origins);
  }
}

/** Returns the text with which the answer of a call begins. */
export const prefixOf = ({ args }: ModelCall): string => String(args['assistant_prefix'] ?? '');

/** Where the arguments of `chat` are in a request. */
function chatBlame(request: PromptedRequest): Blame {
  return {
    PromptTooLongException: 'messages',
    dialog: '',
    assistant_prefix: `messages[${request.messages.length - 1}].content`,
    'chat_template_kwargs.reasoning_effort': 'reasoning_effort',
    ...(request.response_format != null && { InvalidSamplingParams: 'response_format' }),
    ...samplingBlame(request),
    'sampling_params.max_tokens': request.max_completion_tokens == null ? 'max_tokens' : 'max_completion_tokens',
    'sampling_params.logprobs': request.top_logprobs == null ? 'logprobs' : 'top_logprobs',
    ...toolBlame(request),
  };
}

function chatArguments(
  request: PromptedRequest,
  { model, adapter }: ResolvedModel,
  media: MediaParts,
): Record<string, unknown> {
  const { response_format: format, logprobs, top_logprobs: top, n } = request;
  const { chat_template_kwargs: given, reasoning_effort: effort, overflow } = request;
  if (top != null && logprobs !== true) throw invalidValue('top_logprobs', 'it needs logprobs to be true');
  if (format != null && format.type !== 'text' && formOf(request))
    throw invalidValue('response_format', 'it cannot be used together with another form of the answer');
  const maxTokens = request.max_completion_tokens ?? request.max_tokens ?? model.maxTokens ?? REST_OF_CONTEXT;
  const sampling = {
    ...samplingOf(request, maxTokens),
    ...(logprobs === true && { logprobs: top ?? 0 }),
  };
  if (n === 1) delete sampling.n;
  const template = {
    ...(effort != null && { reasoning_effort: effort }),
    ...(effort === 'none' && { enable_thinking: false }),
    ...given,
  };
  const tools = toolArguments(request);
  // The form is that of texts, and an answer that must call a tool has none.
  const hasText = !mustCall(tools);
  if (!hasText) delete sampling.structured_outputs;
  return {
    ...dialogAndPrefix(request, media),
    sampling_params: sampling,
    ...(format != null && hasText && { response_format: format }),
    ...(adapter !== undefined && { adapter }),
    ...(overflow != null && { overflow }),
    ...tools,
    ...(Object.keys(template).length > 0 && { chat_template_kwargs: template }),
    ...(request.reasoning_format != null && { reasoning_format: request.reasoning_format }),
  };
}

/** Returns the dialog. The last message is the beginning of the answer if the request continues it. */
function dialogAndPrefix(request: PromptedRequest, media: MediaParts): Record<string, unknown> {
  const { messages } = dialogOf(request.messages, media);
  const last = messages.at(-1);
  if (request.continue_final_message !== true) {
    if (request.add_generation_prompt === false)
      throw invalidValue('add_generation_prompt', 'false needs continue_final_message to be true');
    return { dialog: { messages } };
  }
  if (request.add_generation_prompt === true)
    throw invalidValue('continue_final_message', 'it needs add_generation_prompt to be false');
  if (last?.role !== 'assistant' || messages.length < 2)
    throw invalidValue('continue_final_message', 'the last message must be of the assistant, behind another one');
  if (Array.isArray(last.content))
    throw invalidValue(`messages[${messages.length - 1}].content`, 'an answer can go on only with text');
  return { dialog: { messages: messages.slice(0, -1) }, assistant_prefix: last.content ?? '' };
}
