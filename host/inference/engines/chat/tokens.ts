import type { LlamaPrompt, NativeLlamaEngine } from '../../../../native/lib/index.ts';
import type { CallContext } from '../../rpc/index.ts';
import type { ImageChatDialog } from '../../../base/schemas/index.ts';
import { chatPrompt } from './chat-prompt.ts';
import type { Media } from './media.ts';
import type { CountTokensArgs } from './text-arguments.ts';
import type { LlamaRequests } from '../llama-requests.ts';

export interface TokenizeArgs extends CountTokensArgs {
  readonly add_special_tokens?: boolean | null;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Returns a text or tokens as a prompt of the engine. */
export function promptOf(prompt: string | readonly number[]): LlamaPrompt {
  return typeof prompt === 'string' ? { text: prompt } : { tokens: Int32Array.from(prompt) };
}

/** Returns the tokens of a text or a dialog, with the text of each one. */
export async function tokenize(
  engine: NativeLlamaEngine,
  requests: LlamaRequests,
  { text = '', dialog, assistant_prefix: prefix, add_special_tokens: outer, ...options }: TokenizeArgs,
  context: CallContext,
  readMedia: (dialog: ImageChatDialog) => Promise<Media>,
): Promise<{ tokens: number[]; texts: string[]; max_tokens: number }> {
  const cacheKey = requests.cacheKeyOf(context);
  const prompt = dialog
    ? chatPrompt(dialog, prefix ?? '', options, cacheKey, await readMedia(dialog)).prompt
    : { text };
  const { ids, bytes, lengths } = await requests.count(engine, prompt, context, {
    tellsTokens: true,
    outerTokens: outer !== false,
  });
  const texts: string[] = [];
  let at = 0;
  for (const length of lengths ?? []) texts.push(decoder.decode(bytes?.subarray(at, (at += length))));
  return { tokens: [...(ids ?? [])], texts, max_tokens: engine.info.contextTokens };
}

/** Returns the text of tokens. Bytes that are no whole character become U+FFFD. */
export async function detokenize(
  engine: NativeLlamaEngine,
  requests: LlamaRequests,
  { tokens }: { readonly tokens: readonly number[] },
  context: CallContext,
): Promise<{ text: string }> {
  const { bytes } = await requests.count(engine, promptOf(tokens), context, { tellsTokens: true });
  return { text: decoder.decode(bytes) };
}
