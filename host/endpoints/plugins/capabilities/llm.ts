import type { ChatOutput, TextChunk } from '../../../base/schemas/chat.ts';
import type { LlmCalls, Message, Options, TokenCount } from '../../../../wit/generated/world/llm.ts';
import { completionCalls } from './completion/completion.ts';
import { chatOptions, dialogOf } from './llm-records.ts';
import { openStream } from './scope/open-stream.ts';
import type { CallsOf, CapabilityScope } from './scope/scope.ts';

/** Text generation in typed records. */
export const llmCalls: CallsOf<keyof LlmCalls> = {
  ...completionCalls,
  async 'llm.chat'(scope, deployment, dialog, options) {
    const output = await scope.deployment(deployment).call('chat', chatArguments(dialog, options), scope.callOptions());
    const { role, content } = (output as ChatOutput).message;
    return { role: role === 'tool' ? 'assistant' : role, content };
  },
  async 'llm.chat-stream'(scope, deployment, dialog, options) {
    return openStream(scope, deployment, 'chat_stream', chatArguments(dialog, options));
  },
  async 'llm.next'(scope, stream) {
    const { stream: open } = scope.get(stream, 'stream');
    // Chunks of reasoning have no text, and no texts would be the end.
    for (;;) {
      const values = await open.nextValues();
      const texts = values.map((value) => (value as TextChunk).text).filter((text) => text !== '');
      if (texts.length > 0 || values.length === 0) return texts;
    }
  },
  'llm.forward': completionCalls['llm.forward-pieces'],
  'llm.count-dialog-tokens': (scope, deployment, dialog) =>
    countTokens(scope, deployment, { dialog: dialogOf(dialog) }),
  'llm.count-tokens': (scope, deployment, text) => countTokens(scope, deployment, { text }),
};

function chatArguments(dialog: readonly Message[], options: Options): Record<string, unknown> {
  return { dialog: dialogOf(dialog), ...chatOptions(options) };
}

async function countTokens(
  scope: CapabilityScope,
  deployment: string,
  args: Record<string, unknown>,
): Promise<TokenCount> {
  const { tokens, max_tokens: maxTokens } = (await scope
    .deployment(deployment)
    .call('count_tokens', args, scope.callOptions())) as { tokens: number; max_tokens: number };
  return { tokens, maxTokens };
}
