import { AIMessage, type BaseMessage, ToolMessage } from '@langchain/core/messages';
import type * as z from 'zod';
import { fail } from '../../base/core/errors.ts';
import type { ChatDialogInput, ContentPart, ToolCall } from '../../base/schemas/index.ts';

type DialogMessage = z.input<typeof ChatDialogInput>['messages'][number];
type Content = NonNullable<DialogMessage['content']>;

/** The roles of a dialog by the types of LangChain's messages. */
const ROLES = new Map<string, DialogMessage['role']>([
  ['human', 'user'],
  ['ai', 'assistant'],
  ['system', 'system'],
  ['developer', 'system'],
  ['tool', 'tool'],
]);

/** Blocks of an assistant's content that LangChain also has as properties of the message. */
const REPEATED = new Set([
  ...['tool_call', 'tool_call_chunk', 'invalid_tool_call', 'tool_use', 'reasoning', 'thinking'],
]);

/** Returns the dialog that LangChain's messages are. Throws `ValidationError` for what no model takes. */
export const dialogOf = (messages: readonly BaseMessage[]): ChatDialogInput => ({
  messages: messages.map((message, n) => messageOf(message, `messages[${n}]`)),
});

function messageOf(message: BaseMessage, at: string): DialogMessage {
  const type = message.type === 'generic' && 'role' in message ? String(message.role) : message.type;
  const role = ROLES.get(type) ?? [...ROLES.values()].find((known) => known === type);
  if (!role) throw fail('ValidationError', `${at}: there is no role ${JSON.stringify(type)}`);
  const content = contentOf(message, at);
  const said = { role, content, ...(message.name !== undefined && { name: message.name }) };
  if (AIMessage.isInstance(message)) {
    const { tool_calls: calls = [], additional_kwargs: kwargs } = message;
    const { reasoning_content: reasoning } = kwargs;
    return {
      ...said,
      ...(calls.length > 0 && { tool_calls: calls.map((call, n) => callOf(call, `call_${n}`)) }),
      ...(typeof reasoning === 'string' && { reasoning_content: reasoning }),
    };
  }
  return { ...said, ...(ToolMessage.isInstance(message) && { tool_call_id: message.tool_call_id }) };
}

const callOf = (call: NonNullable<AIMessage['tool_calls']>[number], otherwise: string): ToolCall => ({
  id: call.id ?? otherwise,
  type: 'function',
  function: { name: call.name, arguments: JSON.stringify(call.args) },
});

function contentOf({ content }: BaseMessage, at: string): Content {
  if (typeof content === 'string') return content;
  return content.flatMap((block, n): ContentPart[] => {
    if (REPEATED.has(block.type)) return [];
    const { type, text, image, audio, time } = block;
    if (type === 'text') return [{ type, text: text as string }]; // the host checks it, as the others
    if (type === 'image' && image)
      return [{ type, image: image as never, ...(time !== undefined && { time: time as number }) }];
    if (type === 'audio' && audio) return [{ type, audio: audio as never }];
    throw fail(
      'ValidationError',
      `${at}.content[${n}]: the model cannot open ${JSON.stringify(type)}. Open images and audio with openImage and ` +
        'openAudio of the application, and give { type: "image", image } or { type: "audio", audio }',
    );
  });
}
