// Runs in a replica: text generation with Transformers.js over the ONNX Runtime.
import { fail } from '../../../base/core/errors.ts';
import {
  type GenerationDetails,
  type ImageChatDialog,
  type SamplingParams,
  type TextChunk,
  textOfContent,
} from '../../../base/schemas/index.ts';
import type { Implementation, StartContext } from '../../replicas/process/implementation.ts';
import type { CallContext } from '../../rpc/index.ts';
import { answerCount, numbered, ofAll, samplingOfAnswer } from '../chat/choices.ts';
import { requireTaken } from '../chat/media.ts';
import type { ChatArgs, CountTokensArgs, GenerateArgs } from '../chat/text-arguments.ts';
import { generate, type TextModel, textMethods } from '../chat/text-methods.ts';
import type { TokenizeArgs } from '../chat/tokens.ts';
import { mergeSampling, withinLimit } from '../sampling.ts';
import { wrongArgument } from '../wrong-argument.ts';
import type { GenerationSpec, Texts, Tokens } from './generation-thread.ts';
import { requireKnownOptions, requireKnownSampling } from './lacking.ts';
import { requireReadable } from './readable-texts.ts';
import { StopTexts } from './stop-texts.ts';
import { ThreadModel } from './thread-model.ts';

/**
 * The configuration of a replica, made by
 * `inference/deployments/builtin/onnx/text-generation-task.ts`.
 */
interface TextGenerationSpec extends Omit<GenerationSpec, 'transformers'> {
  readonly model_name: string;
  readonly transformers_path: string;
  readonly max_memory_bytes: number;
  /** Tokens that one dialog can hold, with its answer. */
  readonly n_ctx: number;
  readonly default_sampling_params: SamplingParams;
}

type Pieces = AsyncGenerator<TextChunk, GenerationDetails>;

/** A signal without a limit, because the host ends a replica whose warm-up makes no progress. */
const UNLIMITED = new AbortController().signal;

export async function start(spec: TextGenerationSpec, _context: StartContext): Promise<Implementation> {
  const { model_name: name, transformers_path: transformers } = spec;
  const thread = await ThreadModel.load(name, { ...spec, transformers }, spec.max_memory_bytes);
  const model = new TransformersTextModel(spec, thread);
  return {
    info: { model: name, file: spec.file, contextTokens: model.contextTokens },
    // The host has checked the arguments against the schemas of the deployment's methods.
    methods: {
      ...textMethods(model),
      count_tokens: (args, context) => model.countTokens(args as CountTokensArgs, context),
      tokenize: (args, context) => model.tokenize(args as TokenizeArgs, context),
      detokenize: (args, context) => model.detokenize(args as { tokens: readonly number[] }, context),
    },
    warmUp: async () =>
      void (await generate(model, { prompt: 'Hello', sampling_params: { max_tokens: 1 } }, { signal: UNLIMITED })),
    reconfigure: async (next) => model.reconfigure(next as TextGenerationSpec),
    steps: () => thread.steps,
    activity: () => ({ busy: thread.isBusy, beats: thread.steps }),
    close: () => thread.close(),
  };
}

class TransformersTextModel implements TextModel {
  /** The thread computes one step at a time, and each prompt takes memory until its answer ends. */
  readonly mostPrompts = 1;
  /** Tokens that one dialog can hold, with its answer. */
  readonly contextTokens: number;
  readonly #name: string;
  readonly #thread: ThreadModel;
  #defaults: SamplingParams;

  constructor(spec: TextGenerationSpec, thread: ThreadModel) {
    this.contextTokens = spec.n_ctx;
    this.#name = spec.model_name;
    this.#thread = thread;
    this.#defaults = spec.default_sampling_params;
  }

  get defaults(): SamplingParams {
    return this.#defaults;
  }

  /** Changes the sampling defaults for later answers. The host makes new replicas for any other change. */
  reconfigure({ default_sampling_params: defaults }: TextGenerationSpec): void {
    this.#defaults = defaults;
  }

  chatPieces(args: ChatArgs, context: CallContext): Pieces {
    return this.#answers(args, (one, index) => this.#chatPieces(one, index, context));
  }

  pieces(args: GenerateArgs, context: CallContext): Pieces {
    return this.#answers(args, (one, index) => this.#pieces(one, index, context));
  }

  async countTokens(args: CountTokensArgs, context: CallContext): Promise<{ tokens: number; max_tokens: number }> {
    const { tokens } = await this.#tokensOf(args, context, Infinity);
    return { tokens: tokens.length, max_tokens: this.contextTokens };
  }

  async tokenize(
    args: TokenizeArgs,
    context: CallContext,
  ): Promise<{ tokens: readonly number[]; texts: readonly string[]; max_tokens: number }> {
    const { tokens } = await this.#tokensOf(args, context, Infinity, args.add_special_tokens !== false);
    const { texts } = await this.#thread.detokenize(tokens, context.signal);
    return { tokens, texts, max_tokens: this.contextTokens };
  }

  async detokenize(
    { tokens }: { readonly tokens: readonly number[] },
    context: CallContext,
  ): Promise<{ text: string }> {
    this.#requireTokens(tokens, 'tokens');
    const { text }: Texts = await this.#thread.detokenize(tokens, context.signal);
    return { text };
  }

  /** Runs a generation of its own for each answer, one after the other. */
  async *#answers<Args extends ChatArgs | GenerateArgs>(
    args: Args,
    run: (args: Args, index: number) => Pieces,
  ): Pieces {
    const count = answerCount(args.sampling_params);
    if (count === 1) return yield* run(args, 0);
    const defaults = this.#defaults;
    const all: GenerationDetails[] = [];
    for (let index = 0; index < count; index += 1) {
      const sampling = samplingOfAnswer(defaults, args.sampling_params, index);
      all.push(yield* run({ ...args, sampling_params: sampling }, index));
    }
    return ofAll(all);
  }

  async *#chatPieces(
    { sampling_params: wanted, prompt_tokens: tellsPrompt, ...args }: ChatArgs,
    index: number,
    context: CallContext,
  ): Pieces {
    requireKnownOptions(args);
    const read = await this.#tokensOf(args, context, this.#mostTokens);
    const prompt = this.#withRoom(read);
    if (tellsPrompt) yield numbered({ text: '', prompt_tokens: prompt.length }, index);
    const { assistant_prefix: prefix } = args;
    if (prefix) yield numbered({ text: prefix }, index);
    return yield* this.#run(prompt, index, wanted, context);
  }

  async *#pieces(
    { prompt, sampling_params: wanted, ...args }: GenerateArgs,
    index: number,
    context: CallContext,
  ): Pieces {
    requireKnownOptions(args);
    if (typeof prompt !== 'string') this.#requireTokens(prompt, 'prompt');
    const read =
      typeof prompt === 'string'
        ? await this.#thread.tokenize(prompt, true, this.#mostTokens, context.signal)
        : { tokens: prompt, isPart: false };
    return yield* this.#run(this.#withRoom(read), index, wanted, context);
  }

  async *#run(
    prompt: readonly number[],
    index: number,
    wanted: SamplingParams | null | undefined,
    context: CallContext,
  ): Pieces {
    const began = performance.now();
    const merged = mergeSampling(this.#defaults, withinLimit(this.#defaults, wanted, context));
    requireKnownSampling(wanted, merged);
    const { minTokens = 0, stopTokenIds = [], logitBias = [] } = merged;
    this.#requireTokens(stopTokenIds, 'stop_token_ids');
    this.#requireTokens(
      logitBias.map(({ token }) => token),
      'logit_bias',
    );
    const ends = [...this.#thread.loaded.ends, ...stopTokenIds];
    const most = Math.min(merged.maxTokens, this.contextTokens - prompt.length);
    const stops = new StopTexts(merged.stop);
    const sampling = {
      ...merged,
      presencePenalty: merged.presencePenalty ?? 0,
      frequencyPenalty: merged.frequencyPenalty ?? 0,
      logitBias,
      never: merged.ignoreEos ? this.#thread.loaded.ends : [],
      notBefore: ends,
      minTokens,
    };
    const answer = await this.#thread.begin(prompt, { sampling, ends }, context.signal);
    const startMs = performance.now();
    let firstMs = startMs;
    const details = (count: number, reason: 'stop' | 'length', stop?: string): GenerationDetails => ({
      finish_reason: reason,
      ...(stop !== undefined && { stop_reason: stop }),
      usage: { prompt_tokens: prompt.length, cached_tokens: 0, completion_tokens: count },
      timings: {
        queue_ms: startMs - began,
        prompt_ms: firstMs - startMs,
        completion_ms: performance.now() - firstMs,
      },
    });
    let isEnded = false;
    try {
      for (let count = 1; ; count += 1) {
        const { text, isEnd } = await answer.next();
        if (count === 1) firstMs = performance.now();
        isEnded = isEnd || count === most;
        const known = isEnded ? text + (await answer.end()) : text;
        const { text: released, stop } = count > minTokens ? stops.add(known) : { text: known, stop: undefined };
        const piece = isEnded && stop === undefined ? released + stops.rest() : released;
        if (piece !== '') yield numbered({ text: piece }, index);
        if (stop !== undefined) return details(count, 'stop', stop);
        if (isEnded) return isEnd ? details(count - 1, 'stop') : details(count, 'length');
      }
    } finally {
      if (!isEnded) void answer.end();
    }
  }

  /** Tokens of the longest prompt. */
  get #mostTokens(): number {
    return this.contextTokens - 1;
  }

  /** Returns the tokens of a prompt. Throws `EmptyPrompt` and `PromptTooLongException`. */
  #withRoom({ tokens: { length }, tokens, isPart }: Tokens): readonly number[] {
    const data = { model_name: this.#name };
    if (length === 0)
      throw fail('EmptyPrompt', `the prompt is empty; ${this.#name} needs at least one character`, { data });
    if (length > this.#mostTokens)
      throw fail(
        'PromptTooLongException',
        `${this.#name} cannot take the prompt: it has ${isPart ? 'at least ' : ''}${length} tokens, and with an ` +
          `answer there is room for ${this.contextTokens}`,
        { data: { prompt_len: length, max_len: this.contextTokens } },
      );
    return tokens;
  }

  /** Throws `InvalidPrompt` or `InvalidSamplingParams` for a token that the model does not have. */
  #requireTokens(tokens: readonly number[], argument: 'prompt' | 'tokens' | 'stop_token_ids' | 'logit_bias'): void {
    const { vocabulary } = this.#thread.loaded;
    const wrong = tokens.find((token) => token >= vocabulary);
    if (wrong === undefined) return;
    const why = `${this.#name} has no token ${wrong}; its ${vocabulary} tokens count from 0`;
    throw argument === 'prompt' || argument === 'tokens'
      ? wrongArgument('InvalidPrompt', [argument], why)
      : wrongArgument('InvalidSamplingParams', ['sampling_params', argument], why);
  }

  async #tokensOf(
    { dialog, text = '', assistant_prefix: prefix, ...options }: CountTokensArgs,
    { signal }: CallContext,
    most: number,
    hasOuterTokens = true,
  ): Promise<Tokens> {
    if (!dialog) return this.#thread.tokenize(text, hasOuterTokens, most, signal);
    requireKnownOptions(options);
    this.#requireTexts(dialog);
    const messages = dialog.messages.map((message) => ({ ...message, content: textOfContent(message.content) }));
    requireReadable(
      messages.reduce((sum, { content }) => sum + content.length, 0),
      this.#name,
    );
    const templateArguments = options.chat_template_kwargs ?? {};
    return this.#thread.tokenizeDialog({ messages, templateArguments, prefix: prefix ?? '' }, most, signal);
  }

  #requireTexts(dialog: ImageChatDialog): void {
    const why = 'it is a model of texts';
    requireTaken(dialog, { model: this.#name, images: why, audio: why });
  }
}
