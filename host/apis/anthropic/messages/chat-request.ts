import {
  type Blame,
  type FilePart,
  invalidValue,
  type ModelCall,
  type PromptedRequest,
  unsupported,
} from '../../openai/index.ts';
import { chatMessages } from './dialog.ts';
import type { CountTokensRequest, MessagesRequest } from './message-fields.ts';
import { chatTools, toolOrigins } from './tools.ts';

/** Where the parameters of a chat request are in a request of Anthropic's API. */
const ORIGINS: Blame = {
  stop: 'stop_sequences',
  reasoning_effort: 'output_config.effort',
  response_format: 'output_config.format',
  'response_format.json_schema': 'output_config.format',
  chat_template_kwargs: 'thinking',
};

/** A chat request, and the files in its messages, whose places are empty until they are read. */
interface WithFiles {
  readonly request: PromptedRequest;
  readonly files: readonly FilePart[];
}

/**
 * Returns a request as a chat request, which has all that decides the prompt. Throws `InvalidParameter` and
 * `UnsupportedParameter`.
 */
export function promptRequest(given: CountTokensRequest): WithFiles {
  const { model, system, messages, thinking, thread, output_config: output } = given;
  if (thread != null) throw unsupported('thread', 'the server keeps no dialogs: send the whole dialog');
  const last = messages.at(-1);
  const isContinued = last?.role === 'assistant';
  if (isContinued && messages.length === 1)
    throw invalidValue('messages', 'a message of the user must come before one of the assistant that goes on');
  if (isContinued && typeof last.content !== 'string' && last.content.some(({ type }) => type === 'tool_use'))
    throw invalidValue('messages', 'a message with the results must follow the last tool_use');
  const dialog = chatMessages(system, messages);
  const request: PromptedRequest = {
    model,
    messages: dialog.messages,
    origins: { ...ORIGINS, ...toolOrigins(given), ...dialog.origins },
    ...chatTools(given),
    ...(isContinued && { continue_final_message: true }),
    ...(thinking &&
      thinking.type !== 'adaptive' && {
        chat_template_kwargs: { enable_thinking: thinking.type === 'enabled' },
      }),
    ...(output?.effort && { reasoning_effort: output.effort }),
    ...(output?.format && {
      response_format: { type: 'json_schema', json_schema: { schema: output.format.schema, strict: true } },
    }),
  };
  return { request, files: dialog.files };
}

/** Returns a request as a chat request. Throws like {@link promptRequest}. */
export function chatRequest(given: MessagesRequest): WithFiles {
  const { max_tokens, stop_sequences, temperature, top_p, top_k } = given;
  const { request, files } = promptRequest(given);
  return { request: { ...request, max_tokens, stop: stop_sequences, temperature, top_p, top_k }, files };
}

/** Returns the call of `count_tokens` for the call of `chat`. */
export function countCall(call: ModelCall): ModelCall {
  const { dialog, assistant_prefix, tools, tool_choice, parallel_tool_calls, chat_template_kwargs } = call.args;
  const args = { dialog, assistant_prefix, tools, tool_choice, parallel_tool_calls, chat_template_kwargs };
  return { ...call, args: Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined)) };
}
