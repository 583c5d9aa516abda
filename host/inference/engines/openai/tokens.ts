import * as z from 'zod/mini';
import { boundedMap } from '../../../base/core/async/bounded-map.ts';
import { fail } from '../../../base/core/errors.ts';
import type { StartContext } from '../../replicas/process/implementation.ts';
import type { CallContext } from '../../rpc/index.ts';
import type { ScoredToken, TextChunk } from '../../../base/schemas/index.ts';
import { activeTools } from '../chat/chat-prompt.ts';
import { requireTaken } from '../chat/media.ts';
import type { CountTokensArgs } from '../chat/text-arguments.ts';
import type { TokenizeArgs } from '../chat/tokens.ts';
import { dialogBody } from './dialog-body.ts';
import { AnswerFormatError } from './format-error.ts';
import type { OpenAiServer } from './server.ts';
import type { FoundServer } from './server-facts.ts';

// The rule for promises takes `z.catch` for the method of a promise.
const { catch: orElse } = z;

const size = z.int().check(z.minimum(0));
const Counted = z.object({
  count: size,
  max_model_len: orElse(z.optional(z.nullable(size)), undefined),
  tokens: orElse(z.optional(z.array(size)), undefined),
});
const Piece = z.union([z.string(), z.array(z.int().check(z.minimum(0), z.maximum(255)))]);
const Numbers = z.object({ tokens: z.array(size) });
const Pieces = z.object({ tokens: z.array(z.object({ id: size, piece: Piece })) });
const Prompt = z.object({ prompt: z.string() });
const Content = z.object({ content: z.string() });

/** Requests for the texts of tokens that run at the same time. */
const MOST_AT_ONCE = 8;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** The vocabulary of a server, by routes of vLLM and llama-server that are not a part of OpenAI's API. */
export class ServerTokens {
  readonly #server: OpenAiServer;
  readonly #found: FoundServer;
  /** Texts of tokens of vLLM, which are asked for one by one. */
  readonly #texts = new Map<number, string>();

  readonly #artifactPath: StartContext['artifactPath'];

  constructor(server: OpenAiServer, found: FoundServer, artifactPath: StartContext['artifactPath']) {
    this.#server = server;
    this.#found = found;
    this.#artifactPath = artifactPath;
  }

  async count(args: CountTokensArgs, context: CallContext): Promise<{ tokens: number; max_tokens: number }> {
    this.#require('count tokens');
    if (this.#found.dialect === 'vllm') {
      const { count, max_model_len: most } = await this.#counted(args, {}, context);
      return { tokens: count, max_tokens: most ?? this.#found.contextTokens ?? 0 };
    }
    const { tokens } = await this.#tokenized(Numbers, args, { add_special: true }, context);
    return { tokens: tokens.length, max_tokens: this.#found.contextTokens ?? 0 };
  }

  /** Returns the tokens of a text or a dialog, with the text of each one. */
  async tokenize(
    { add_special_tokens: outer, ...args }: TokenizeArgs,
    context: CallContext,
  ): Promise<{ tokens: number[]; texts: string[]; max_tokens: number }> {
    this.#require('tell tokens');
    const most = this.#found.contextTokens ?? 0;
    if (this.#found.dialect === 'vllm') {
      const options = args.dialog ? {} : { add_special_tokens: outer !== false };
      const { tokens = [], max_model_len: told } = await this.#counted(args, options, context);
      const texts = await this.#textsOf(tokens, context);
      return { tokens, texts: tokens.map((id) => texts.get(id) ?? ''), max_tokens: told ?? most };
    }
    const options = { add_special: outer !== false, with_pieces: true };
    const { tokens: pieces } = await this.#tokenized(Pieces, args, options, context);
    const texts = pieces.map(({ piece }) =>
      typeof piece === 'string' ? piece : decoder.decode(Uint8Array.from(piece)),
    );
    return { tokens: pieces.map(({ id }) => id), texts, max_tokens: most };
  }

  /** Returns the numbers of the tokens of a text, with those that the model wants around texts. */
  async numbers(text: string, context: CallContext): Promise<readonly number[]> {
    if (this.#found.dialect === 'vllm') return (await this.#counted({ text }, {}, context)).tokens ?? [];
    return (await this.#tokenized(Numbers, { text }, { add_special: true }, context)).tokens;
  }

  /** Returns the text of tokens. */
  async detokenize(
    { tokens }: { readonly tokens: readonly number[] },
    context: CallContext,
  ): Promise<{ text: string }> {
    this.#require('tell the text of tokens');
    if (this.#found.dialect === 'vllm') return { text: await this.#detokenized(tokens, context) };
    const answer = await this.#server.json('POST', '/detokenize', { tokens }, context);
    return { text: this.#parsed(Content, answer).content };
  }

  /** Writes the texts of the scored tokens of a piece, where vLLM tells only their numbers. */
  async fill(chunk: TextChunk, context: CallContext): Promise<TextChunk> {
    const { logprobs } = chunk;
    if (this.#found.dialect !== 'vllm' || !logprobs) return chunk;
    const ids = logprobs.flatMap(({ id, top_logprobs: top }) => [id, ...top.map((other) => other.id)]);
    const texts = await this.#textsOf(ids, context);
    const filled = <Token extends ScoredToken>(token: Token): Token => {
      const text = texts.get(token.id) ?? '';
      return { ...token, token: text, bytes: [...Buffer.from(text)] };
    };
    return {
      ...chunk,
      logprobs: logprobs.map((token) => ({ ...filled(token), top_logprobs: token.top_logprobs.map(filled) })),
    };
  }

  #require(what: string): void {
    if (this.#found.dialect !== 'openai') return;
    throw fail('NotSupportedByServer', `${this.#server.address} cannot ${what}; only vllm and llama-server can`);
  }

  async #counted(
    args: CountTokensArgs,
    options: Readonly<Record<string, unknown>>,
    context: CallContext,
  ): Promise<z.infer<typeof Counted>> {
    const prompt = args.dialog ? await this.#chatBody(args) : { prompt: args.text ?? '' };
    const body = { model: this.#found.model, ...prompt, ...options };
    return this.#parsed(Counted, await this.#server.json('POST', '/tokenize', body, context));
  }

  async #tokenized<Value>(
    schema: z.ZodMiniType<Value>,
    args: CountTokensArgs,
    options: Readonly<Record<string, unknown>>,
    context: CallContext,
  ): Promise<Value> {
    const lacks = 'llama-server tells the tokens of texts only';
    if (args.dialog) requireTaken(args.dialog, { model: this.#server.address, images: lacks, audio: lacks });
    const content = args.dialog
      ? this.#parsed(Prompt, await this.#server.json('POST', '/apply-template', await this.#chatBody(args), context))
          .prompt
      : (args.text ?? '');
    const body = { content, parse_special: true, ...options };
    return this.#parsed(schema, await this.#server.json('POST', '/tokenize', body, context));
  }

  async #textsOf(ids: readonly number[], context: CallContext): Promise<ReadonlyMap<number, string>> {
    const unknown = [...new Set(ids)].filter((id) => !this.#texts.has(id));
    await boundedMap(unknown, MOST_AT_ONCE, context.signal, async (id, signal) => {
      this.#texts.set(id, await this.#detokenized([id], { ...context, signal }));
    });
    return this.#texts;
  }

  async #detokenized(tokens: readonly number[], context: CallContext): Promise<string> {
    const body = { model: this.#found.model, tokens };
    return this.#parsed(Prompt, await this.#server.json('POST', '/detokenize', body, context)).prompt;
  }

  /** Returns a dialog and its tools as both servers take them. */
  async #chatBody(args: CountTokensArgs): Promise<Record<string, unknown>> {
    const { dialog, assistant_prefix: prefix, text: _, ...options } = args;
    const tools = activeTools(options);
    return {
      ...(dialog && (await dialogBody(dialog, prefix, this.#artifactPath))),
      ...(tools.length > 0 && { tools }),
      ...(options.chat_template_kwargs && { chat_template_kwargs: options.chat_template_kwargs }),
    };
  }

  #parsed<Value>(schema: z.ZodMiniType<Value>, value: unknown): Value {
    const { success, data } = schema.safeParse(value);
    if (success) return data;
    throw this.#server.invalidAnswer(new AnswerFormatError('the tokens have an unknown form'));
  }
}
