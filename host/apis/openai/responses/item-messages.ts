import type { RequestMessage } from '../chat/messages.ts';
import type { Blame } from '../blame.ts';
import { invalidValue } from '../fields.ts';
import { argumentsOf, FILE_SEARCH } from './file-search/search-tool.ts';
import type { FileSearchItem, Item, Part } from './items.ts';

type Message = RequestMessage;

/** The items of a dialog: those of the responses that a request continues, and its own. */
export interface GivenItems {
  readonly history: readonly Item[];
  readonly input: readonly Item[];
  /** The indexes of its own items in the list of the request. Default: 0, 1, … */
  readonly indexes?: readonly number[];
}

type OutputItem = Extract<Item, { readonly output: unknown }>;

/** The messages of a dialog. */
export interface ItemMessages {
  readonly messages: Message[];
  /** Where the messages are in the request. */
  readonly origins: Blame;
}

/**
 * Returns the messages of a dialog. Reasoning, a text and calls of tools that follow each other are one message of
 * the assistant, as in chat completions. Throws `InvalidParameter` for the output of a call that the dialog does not
 * have.
 */
export function messagesOf(
  instructions: string | null | undefined,
  { history, input, indexes }: GivenItems,
): ItemMessages {
  const items = [...history, ...input];
  const messages: Message[] = [];
  const origins: Record<string, string> = {};
  const calls = new Set<string>();
  if (instructions != null) {
    messages.push({ role: 'developer', content: instructions });
    origins['messages[0]'] = 'instructions';
    origins['messages[0].content'] = 'instructions';
  }
  for (const [index, item] of items.entries()) {
    const own = index - history.length;
    const at = indexes?.[own] ?? own;
    if (item.type === 'function_call' || item.type === 'custom_tool_call') calls.add(`${item.type} ${item.call_id}`);
    if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') requireCall(calls, item, at);
    for (const next of item.type === 'file_search_call' ? searchMessages(item) : [messageOf(item)]) {
      const last = messages.at(-1);
      if (last && continues(last, next)) join(last, next);
      else messages.push(next);
      const message = `messages[${messages.length - 1}]`;
      if (at >= 0) Object.assign(origins, originsOf(item, `input[${at}]`, message, messages.at(-1)!));
      else origins[message] ??= 'previous_response_id';
    }
  }
  if (messages.length === (instructions == null ? 0 : 1)) throw invalidValue('input', 'it has no items');
  return { messages: messages.map((message) => (isBare(message) ? { ...message, content: '' } : message)), origins };
}

/** Returns where the parts of a message that an item made are in the item. */
function originsOf(item: Item, path: string, message: string, { tool_calls: calls = [] }: Message): Blame {
  switch (item.type) {
    case 'message':
      return { [message]: path, ...imageOrigins(item.content, `${message}.content`, `${path}.content`) };
    case 'file_search_call':
      return { [message]: path };
    case 'reasoning':
      return { [message]: path, [`${message}.reasoning_content`]: `${path}.content` };
    case 'function_call':
    case 'custom_tool_call': {
      const call = `${message}.tool_calls[${calls!.length - 1}]`;
      return {
        [`${message}.tool_calls`]: 'input',
        [call]: path,
        [`${call}.id`]: `${path}.call_id`,
        [`${call}.function`]: path,
        ...(item.type === 'custom_tool_call' && { [`${call}.function.arguments`]: `${path}.input` }),
      };
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return {
        [message]: path,
        [`${message}.tool_call_id`]: `${path}.call_id`,
        [`${message}.content`]: `${path}.output`,
        ...(typeof item.output !== 'string' && imageOrigins(item.output, `${message}.content`, `${path}.output`)),
      };
  }
}

/** Returns where the addresses of images are: a part has its own as `image_url`, a message as `image_url.url`. */
const imageOrigins = (parts: readonly Part[], content: string, path: string): Blame =>
  Object.fromEntries(parts.map((_, n) => [`${content}[${n}].image_url.url`, `${path}[${n}].image_url`]));

function requireCall(calls: ReadonlySet<string>, { type, call_id: id }: OutputItem, at: number): void {
  const called = type === 'function_call_output' ? 'function_call' : 'custom_tool_call';
  if (!calls.has(`${called} ${id}`))
    throw invalidValue(`input[${at}].call_id`, `there is no ${called} with the call_id ${JSON.stringify(id)}`);
}

/** Returns the call of a search and its result; nothing for a search whose results the item does not have. */
function searchMessages({ id: itemId, status, queries, results }: FileSearchItem): Message[] {
  if (results === null) return [];
  const id = itemId.slice(-9); // templates of Mistral take only ids of nine letters and digits
  const call = { name: FILE_SEARCH, arguments: argumentsOf(queries) };
  const texts = results.map(({ filename, text }, n) => `[${n + 1}] ${filename}\n${text}`);
  const nothing = status === 'failed' ? 'No search was made.' : 'Nothing was found.';
  return [
    { role: 'assistant', tool_calls: [{ id, type: 'function', function: call }] },
    { role: 'tool', tool_call_id: id, content: texts.join('\n\n') || nothing },
  ];
}

function messageOf(item: Exclude<Item, FileSearchItem>): Message {
  switch (item.type) {
    case 'message':
      return { role: item.role, content: item.content.map(partOf) };
    case 'reasoning':
      return { role: 'assistant', reasoning_content: item.content.map(({ text }) => text).join('\n') };
    case 'function_call': {
      const { call_id: id, name, arguments: text } = item;
      return { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name, arguments: text } }] };
    }
    case 'custom_tool_call': {
      const { call_id: id, name, input } = item;
      return { role: 'assistant', tool_calls: [{ id, type: 'custom', custom: { name, input } }] };
    }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const { call_id: id, output } = item;
      return {
        role: 'tool',
        tool_call_id: id,
        content: typeof output === 'string' ? output : output.map(partOf),
      };
    }
  }
}

function partOf(part: Part): Exclude<Message['content'], string | null | undefined>[number] {
  if (part.type === 'refusal' || part.type === 'input_audio') return part;
  if (part.type !== 'input_image') return { type: 'text', text: part.text };
  return { type: 'image_url', image_url: { url: part.image_url, detail: part.detail } };
}

/** Whether two messages are one: the answers of a model are reasoning, then a text, then calls. */
function continues(last: Message, next: Message): boolean {
  if (last.role !== 'assistant' || next.role !== 'assistant') return false;
  const stage = ({ content, tool_calls: calls }: Message): number => (calls ? 2 : content == null ? 0 : 1);
  return stage(next) > stage(last) || (stage(last) === 2 && stage(next) === 2);
}

function join(last: Message, { content, tool_calls: calls }: Message): void {
  if (content != null) last.content = content;
  if (!calls) return;
  last.tool_calls ??= [];
  last.tool_calls.push(...calls);
}

/** Whether a message of the assistant has only reasoning, as an answer that was cut before its text. */
const isBare = ({ role, content, tool_calls: calls }: Message): boolean =>
  role === 'assistant' && content == null && !calls;
