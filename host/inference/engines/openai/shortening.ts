import { type AanaError, fail } from '../../../base/core/errors.ts';
import type { CallContext } from '../../rpc/index.ts';
import type { GenerationDetails } from '../../../base/schemas/index.ts';
import { mediaIn } from '../chat/media.ts';
import type { CountTokensArgs, GenerateArgs } from '../chat/text-arguments.ts';
import type { OpenAiServer } from './server.ts';
import type { FoundServer } from './server-facts.ts';
import { type CountMessages, shorten } from './shorten-dialog.ts';
import type { ServerTokens } from './tokens.ts';

type Dialog = NonNullable<CountTokensArgs['dialog']>;
type Dropped = NonNullable<GenerationDetails['dropped']>;
type Overflow = GenerateArgs['overflow'];

/** A prompt that fits, with what it lost. */
export interface Fitting<Prompt> {
  readonly prompt: Prompt;
  /** Undefined when nothing was dropped. */
  readonly dropped?: Dropped;
}

/** Most tokens of an answer if no parameter says it. */
const DEFAULT_MAX_TOKENS = 256;

/**
 * Makes prompts that are too long fit into the context of a server, as `overflow` "truncate_middle" says. Servers
 * refuse such prompts, or cut them in ways of their own, so this asks for the number of their tokens before.
 */
export class PromptShortener {
  readonly #server: OpenAiServer;
  readonly #found: FoundServer;
  readonly #tokens: ServerTokens;

  constructor(server: OpenAiServer, found: FoundServer, tokens: ServerTokens) {
    this.#server = server;
    this.#found = found;
    this.#tokens = tokens;
  }

  /** Returns the prompt, or its tokens without those of its middle. */
  async text(
    prompt: GenerateArgs['prompt'],
    overflow: Overflow,
    maxTokens: number | null | undefined,
    context: CallContext,
  ): Promise<Fitting<GenerateArgs['prompt']>> {
    const most = this.#room(overflow, maxTokens);
    if (most === undefined) return { prompt };
    const tokens = typeof prompt === 'string' ? await this.#tokens.numbers(prompt, context) : prompt;
    if (tokens.length <= most) return { prompt };
    const head = Math.floor(most / 2);
    const rest = [...tokens.slice(0, head), ...tokens.slice(tokens.length - (most - head))];
    return { prompt: rest, dropped: { tokens: tokens.length - most } };
  }

  /** Returns the dialog, or a shorter one. `args` has what the template writes besides. */
  async dialog(
    dialog: Dialog,
    args: Omit<CountTokensArgs, 'dialog' | 'text'>,
    overflow: Overflow,
    maxTokens: number | null | undefined,
    context: CallContext,
  ): Promise<Fitting<Dialog>> {
    const most = this.#room(overflow, maxTokens);
    if (most === undefined) return { prompt: dialog };
    if (mediaIn(dialog).length > 0)
      throw fail(
        'InvalidSamplingParams',
        'a prompt with images or audio cannot be shortened, because they have no middle to leave out; ' +
          'leave out overflow',
      );
    const count: CountMessages = async (messages) =>
      (await this.#tokens.count({ ...args, dialog: { ...dialog, messages } }, context)).tokens;
    const before = await count(dialog.messages);
    if (before <= most) return { prompt: dialog };
    const shorter = await shorten(dialog.messages, most, count);
    // The server then refuses it with both numbers.
    if (!shorter) return { prompt: dialog };
    const messages = dialog.messages.length - shorter.messages.length;
    return {
      prompt: { ...dialog, messages: [...shorter.messages] },
      dropped: { tokens: before - shorter.tokens, ...(messages > 0 && { messages }) },
    };
  }

  /** Returns the most tokens of a prompt; undefined when prompts are not shortened. */
  #room(overflow: Overflow, maxTokens: number | null | undefined): number | undefined {
    if (overflow == null || overflow === 'error') return undefined;
    const { dialect, contextTokens } = this.#found;
    if (overflow === 'shift')
      throw this.#notTaken(overflow, 'the API has no request for it; use a LlamaTextGenerationDeployment for it');
    if (dialect === 'openai')
      throw this.#notTaken(overflow, 'it does not count tokens as vllm and llama-server do; shorten the prompt');
    if (contextTokens === undefined) throw this.#notTaken(overflow, 'it does not tell the length of its context');
    const half = Math.max(1, Math.floor(contextTokens / 2));
    return contextTokens - Math.min(Math.max(maxTokens ?? DEFAULT_MAX_TOKENS, 1), half);
  }

  #notTaken(overflow: string, reason: string): AanaError {
    return fail(
      'NotSupportedByServer',
      `${this.#server.address} (${this.#found.dialect}) cannot take overflow ${JSON.stringify(overflow)}: ${reason}`,
    );
  }
}
