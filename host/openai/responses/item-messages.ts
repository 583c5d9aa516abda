import type { RequestMessage } from '../chat/messages.ts';
import { invalidValue } from '../fields.ts';
import type { Item, Part } from './items.ts';

type Message = RequestMessage;

/** The items of a dialog: those of the responses that a request continues, and its own. */
export interface GivenItems {
  readonly history: readonly Item[];
  readonly input: readonly Item[];
}

/**
 * Returns the messages of a dialog. Reasoning, a text and calls of tools that follow each other are one message of
 * the assistant, as in chat completions. Throws `InvalidParameter` for the output of a call that the dialog does not
 * have.
 */
export function messagesOf(instructions: string | null | undefined, { history, input }: GivenItems): Message[] {
  const items = [...history, ...input];
  if (items.length === 0) throw invalidValue('input', 'it has no items');
  const messages: Message[] = [];
  const calls = new Set<string>();
  if (instructions != null) messages.push({ role: 'developer', content: instructions });
  for (const [index, item] of items.entries()) {
    if (item.type === 'function_call' || item.type === 'custom_tool_call') calls.add(`${item.type} ${item.call_id}`);
    if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output')
      requireCall(calls, item.type === 'function_call_output' ? 'function_call' : 'custom_tool_call', item.call_id);
    const last = messages.at(-1);
    const at = index - history.length;
    const next = messageOf(item, at < 0 ? 'previous_response_id' : `input[${at}].content`);
    if (last && continues(last, next)) join(last, next);
    else messages.push(next);
  }
  return messages.map((message) => (isBare(message) ? { ...message, content: '' } : message));
}

function requireCall(calls: ReadonlySet<string>, type: string, id: string): void {
  if (!calls.has(`${type} ${id}`))
    throw invalidValue('input', `there is no ${type} with the call_id ${JSON.stringify(id)}`);
}

/** `path` is the place of the content in the request. */
function messageOf(item: Item, path: string): Message {
  switch (item.type) {
    case 'message':
      return { role: item.role, content: item.content.map((part, n) => partOf(part, path, n)) };
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
        content: typeof output === 'string' ? output : output.map((part, n) => partOf(part, path, n)),
      };
    }
  }
}

function partOf(
  part: Part,
  path: string,
  index: number,
): Exclude<Message['content'], string | null | undefined>[number] {
  if (part.type === 'refusal') return part;
  if (part.type !== 'input_image') return { type: 'text', text: part.text };
  const origin = {
    part: path === 'previous_response_id' ? path : `${path}[${index}]`,
    key: 'image_url',
    type: part.type,
  };
  return { type: 'image_url', image_url: { url: part.image_url, detail: part.detail }, origin };
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
