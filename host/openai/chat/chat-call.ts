import type { ResolvedModel } from '../model-directory.ts';
import { invalidValue } from '../fields.ts';
import { formOf, samplingOf } from '../text/sampling-fields.ts';
import type { ChatRequest } from './chat-fields.ts';
import { ImageParts } from '../images/image-part.ts';
import { dialogOf, type RequestMessage } from './messages.ts';
import { toolArguments } from './tools.ts';

/** More tokens than any context holds: the answer may fill the rest of the context. */
const REST_OF_CONTEXT = 2 ** 31 - 1;

/** A chat request, whose messages may come from another API. */
export type PromptedRequest = Omit<ChatRequest, 'messages'> & { messages: RequestMessage[] };

/**
 * Returns the arguments of `chat` and `chat_stream` for a request. Its images, which `images` takes, are not opened yet.
 * Throws errors that name the wrong parameter.
 */
export function chatArguments(
  request: PromptedRequest,
  { model, adapter }: ResolvedModel,
  images: ImageParts = new ImageParts(model, 'images are not opened for this request'),
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
  return {
    ...dialogAndPrefix(request, images),
    sampling_params: sampling,
    ...(format != null && { response_format: format }),
    ...(adapter !== undefined && { adapter }),
    ...(overflow != null && { overflow }),
    ...toolArguments(request),
    ...(Object.keys(template).length > 0 && { chat_template_kwargs: template }),
    ...(request.reasoning_format != null && { reasoning_format: request.reasoning_format }),
  };
}

/** Returns the dialog. The last message is the beginning of the answer if the request continues it. */
function dialogAndPrefix(request: PromptedRequest, images: ImageParts): Record<string, unknown> {
  const { messages } = dialogOf(request.messages, images);
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
  return { dialog: { messages: messages.slice(0, -1) }, assistant_prefix: String(last.content ?? '') };
}
