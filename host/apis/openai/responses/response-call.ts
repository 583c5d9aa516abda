import type { Blame } from '../blame.ts';
import { chatCall, type PromptedRequest } from '../chat/chat-call.ts';
import type { ChatRequest } from '../chat/chat-fields.ts';
import { dialogOf } from '../chat/messages.ts';
import { invalidValue } from '../fields.ts';
import { indexedTools, toolPaths } from '../hosted-tools.ts';
import type { ModelCall } from '../model-call.ts';
import type { ResolvedModel } from '../models/model-names.ts';
import { MediaParts, REFUSED_MEDIA } from '../media/media-part.ts';
import { FILE_SEARCH } from './file-search/search-tool.ts';
import type { Item } from './items.ts';
import { type GivenItems, messagesOf } from './item-messages.ts';
import { chatTool, INCLUDE_LOGPROBS, type InputTokensRequest, type ResponseRequest } from './response-fields.ts';

/** Where the parameters of a chat request are in a request for a response. */
const RESPONSE_ORIGINS: Blame = {
  messages: 'input',
  max_completion_tokens: 'max_output_tokens',
  max_tokens: 'max_output_tokens',
  reasoning_effort: 'reasoning.effort',
  response_format: 'text.format',
  'response_format.json_schema': 'text.format',
  logprobs: 'include',
};

/**
 * Returns the call of `chat` and `chat_stream` for a request whose dialog has these items. A response is a chat
 * completion in another form. Throws errors that name the wrong parameter.
 */
export function responseCall(
  request: Omit<ResponseRequest, 'input'>,
  items: GivenItems,
  resolved: ResolvedModel,
  media: MediaParts,
): ModelCall {
  const { max_output_tokens: maxTokens, include, top_logprobs: top, ...rest } = request;
  const hasLogprobs = include?.includes(INCLUDE_LOGPROBS) === true;
  if (top && !hasLogprobs) throw invalidValue('top_logprobs', `it needs ${INCLUDE_LOGPROBS} in include`);
  return chatCall(
    {
      ...rest,
      ...promptOf(request, items),
      max_completion_tokens: maxTokens,
      ...(hasLogprobs && { logprobs: true, top_logprobs: top }),
    },
    resolved,
    media,
  );
}

/** What a model has written of an answer, and what is left of it. */
export interface WrittenTurns {
  readonly written: readonly Item[];
  readonly outputTokens: number;
  /** Whether the model sees the tool `file_search`. */
  readonly canSearch: boolean;
}

/** Returns the call that goes on with the answer of a call whose media are open. It leaves the choice to the model. */
export function nextCall(
  { args: { dialog } }: ModelCall,
  { tools, tool_choice: choice, max_output_tokens: most, ...request }: Omit<ResponseRequest, 'input'>,
  items: GivenItems,
  resolved: ResolvedModel,
  { written, outputTokens, canSearch }: WrittenTurns,
): ModelCall {
  const isKept = ({ type }: { readonly type: string }): boolean => canSearch || type !== FILE_SEARCH;
  const isAllowed = typeof choice === 'object' && choice?.type === 'allowed_tools';
  const next = responseCall(
    {
      ...request,
      tools: tools?.filter(isKept),
      tool_choice: isAllowed ? { ...choice, mode: 'auto', tools: choice.tools.filter(isKept) } : 'auto',
      max_output_tokens: most == null ? most : Math.max(1, most - outputTokens),
    },
    items,
    resolved,
    new MediaParts(resolved.model),
  );
  const { messages } = dialogOf(messagesOf(null, { history: [], input: written }).messages, REFUSED_MEDIA);
  const opened = (dialog as { readonly messages: readonly unknown[] }).messages;
  return { ...next, args: { ...next.args, dialog: { messages: [...opened, ...messages] } } };
}

/** Returns the call of `count_tokens` for a request whose dialog has these items. */
export function inputTokensCall(
  request: InputTokensRequest,
  items: GivenItems,
  resolved: ResolvedModel,
  media: MediaParts,
): ModelCall {
  const call = chatCall({ ...request, ...promptOf(request, items) }, resolved, media);
  const { dialog, tools, chat_template_kwargs } = call.args;
  const args = {
    dialog,
    ...(tools !== undefined && { tools }),
    ...(chat_template_kwargs !== undefined && { chat_template_kwargs }),
  };
  return { ...call, args };
}

function promptOf(request: Omit<InputTokensRequest, 'input'>, items: GivenItems) {
  const { instructions, reasoning, text, truncation, overflow } = request;
  const { messages, origins } = messagesOf(instructions, items);
  const tools = indexedTools(request.tools ?? [], chatTool);
  return {
    messages,
    origins: { ...RESPONSE_ORIGINS, ...toolPaths(tools, { function: '', custom: '' }), ...origins },
    tools: request.tools && tools.map(({ tool }) => tool),
    tool_choice: toolChoiceOf(request.tool_choice),
    reasoning_effort: reasoning?.effort,
    response_format: formatOf(text?.format),
    overflow: overflow ?? (truncation === 'auto' ? ('truncate_middle' as const) : undefined),
  } satisfies Partial<PromptedRequest>;
}

function toolChoiceOf(choice: ResponseRequest['tool_choice']): ChatRequest['tool_choice'] {
  if (choice == null || typeof choice === 'string') return choice;
  if (choice.type !== 'allowed_tools') return named(choice);
  return { type: choice.type, allowed_tools: { mode: choice.mode, tools: choice.tools.map(named) } };
}

type NamedTool = Exclude<ResponseRequest['tool_choice'], string | null | undefined | { readonly mode: unknown }>;

function named(tool: NamedTool) {
  if (tool.type === 'file_search') return { type: 'function' as const, function: { name: FILE_SEARCH } };
  const { type, name } = tool;
  return type === 'function' ? { type, function: { name } } : { type, custom: { name } };
}

function formatOf(format: NonNullable<ResponseRequest['text']>['format']): ChatRequest['response_format'] {
  if (format?.type !== 'json_schema') return format;
  const { type, name, description, schema, strict } = format;
  return { type, json_schema: { name, schema, ...(description != null && { description }), strict } };
}
