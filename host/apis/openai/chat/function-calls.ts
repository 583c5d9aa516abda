import type { RequestMessage } from './messages.ts';

/**
 * Returns messages with calls of tools in the place of calls of functions, as OpenAI's API had them before tools. A
 * message of the role `function` answers the last call of the function that it names.
 */
export function withToolCalls(messages: readonly RequestMessage[]): RequestMessage[] {
  const ids = new Map<string | null | undefined, string>();
  return messages.map(({ function_call: called, ...message }, index) => {
    if (message.role === 'assistant' && called != null && !message.tool_calls?.length) {
      const id = idOf(index);
      ids.set(called.name, id);
      return { ...message, tool_calls: [{ id, type: 'function', function: called }] };
    }
    const id = message.role === 'function' ? ids.get(message.name) : undefined;
    return id === undefined ? message : { ...message, role: 'tool', tool_call_id: id };
  });
}

/** Templates of Mistral take only ids of nine letters and digits. */
const idOf = (index: number): string => `call${String(index).padStart(5, '0')}`;
