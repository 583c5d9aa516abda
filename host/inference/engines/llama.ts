// Runs in a replica: text generation with llama.cpp.
import { isDeepStrictEqual } from 'node:util';
import {
  type LlamaLoadOptions,
  type LlamaPrompt,
  type LlamaRequestOptions,
  type NativeLlamaEngine,
} from '../../../native/lib/index.ts';
import { flatMapped } from '../../base/core/async/async-values.ts';
import { fail } from '../../base/core/errors.ts';
import type { Implementation, StartContext } from '../replicas/process/implementation.ts';
import type { CallContext } from '../rpc/index.ts';
import type {
  ImageChatDialog,
  GenerationDetails,
  ResponseFormat,
  SamplingParams,
  TextChunk,
} from '../../base/schemas/index.ts';
import { withCalls } from './chat/chat-chunks.ts';
import { activeTools, type ChatPrompt, chatPrompt } from './chat/chat-prompt.ts';
import { answerCount, samplingOfAnswer, several } from './chat/choices.ts';
import { type FittedDialog, fitFrames, withDroppedFrames } from './chat/frames.ts';
import { type Media, readMedia, requireRoom, requireTaken } from './chat/media.ts';
import type { ChatArgs, CountTokensArgs, GenerateArgs } from './chat/text-arguments.ts';
import { generate, type TextModel, textMethods } from './chat/text-methods.ts';
import { endProcess, engineLife, type LlamaModelSpec, modelOptions } from './llama-model.ts';
import { GpuMemoryWatch } from './gpu-memory.ts';
import { type CacheScope, LlamaRequests } from './llama-requests.ts';
import { KeptMemory } from './metrics/kept-memory.ts';
import { LooseCalls } from './chat/loose-calls.ts';
import { LlamaMetrics } from './metrics/llama-metrics.ts';
import { openNative } from './native.ts';
import { detokenize, promptOf, tokenize, type TokenizeArgs } from './chat/tokens.ts';
import { answerGrammar } from './chat/answer-grammar.ts';
import { mergeSampling, withinLimit } from './sampling.ts';

/** The configuration of a replica, made by `inference/deployments/builtin/llama-text-generation-deployment.ts`. */
interface LlamaSpec extends LlamaModelSpec {
  readonly rope_scaling?: LlamaLoadOptions['ropeScaling'];
  readonly rope_theta?: number;
  readonly n_seq_max: number;
  readonly n_ctx_total?: number;
  readonly n_guessed?: number;
  readonly draft_model_path?: string;
  readonly draft_p_min?: number;
  readonly cache_scope?: CacheScope;
  readonly prefix_memory_bytes?: number;
  readonly prompt_cache?: { readonly path: string; readonly max_bytes: number; readonly min_tokens: number };
  readonly reader_timeout_s?: number;
  readonly n_prefill: number;
  readonly n_ubatch: number;
  readonly swa_full: boolean;
  readonly type_k: LlamaLoadOptions['keyType'];
  readonly type_v: LlamaLoadOptions['valueType'];
  readonly mmproj_path?: string;
  readonly chat_template?: string;
  readonly default_sampling_params: SamplingParams;
  readonly adapters?: readonly LlamaAdapter[];
}

/** A LoRA adapter that requests can name. */
interface LlamaAdapter {
  readonly name: string;
  readonly path: string;
  readonly scale: number;
}

/** Options of an answer beside its sampling. */
interface RunOptions {
  readonly adapter?: GenerateArgs['adapter'] | undefined;
  readonly overflow?: GenerateArgs['overflow'] | undefined;
  readonly format?: ResponseFormat | null | undefined;
  /** Keywords of tools that do not bind their calls. */
  readonly unbound?: readonly string[];
  /** Whether the tokens of the prompt are told before the answer. */
  readonly tellsPrompt?: boolean | undefined;
  /** Whether the answer must call a tool, so that it does not have the form of the deployment's texts. */
  readonly mustCall?: boolean;
  /** The beginning of the answer that the request gave. */
  readonly begin?: string;
}

/** The prompt of a dialog without the frames that do not fit. */
interface FittedPrompt extends ChatPrompt {
  readonly dropped: FittedDialog['dropped'];
}

/** A signal without a limit, because the host ends a replica whose warm-up makes no progress. */
const UNLIMITED = new AbortController().signal;

export async function start(spec: LlamaSpec, { log, progress, artifactPath }: StartContext): Promise<Implementation> {
  const requests = new LlamaRequests(spec.model_name, endProcess, spec.cache_scope);
  const native = openNative(log);
  const gpus = new GpuMemoryWatch(native, spec.n_gpu_layers !== 0);
  const engine = await native.loadLlama(
    {
      ...modelOptions(spec),
      contextTokens: spec.n_ctx,
      ...(spec.rope_scaling && { ropeScaling: spec.rope_scaling }),
      ...(spec.rope_theta !== undefined && { ropeFrequencyBase: spec.rope_theta }),
      maxSequences: spec.n_seq_max,
      ...(spec.n_ctx_total !== undefined && { totalCells: spec.n_ctx_total }),
      ...(spec.n_guessed !== undefined && { guessedTokensPerStep: spec.n_guessed }),
      ...(spec.draft_model_path !== undefined && { draftModelPath: spec.draft_model_path }),
      ...(spec.draft_p_min !== undefined && { leastGuessProbability: spec.draft_p_min }),
      keptBytes: spec.prefix_memory_bytes ?? 0,
      ...(spec.prompt_cache && {
        promptCache: {
          folder: spec.prompt_cache.path,
          maxBytes: spec.prompt_cache.max_bytes,
          minTokens: spec.prompt_cache.min_tokens,
        },
      }),
      ...(spec.reader_timeout_s !== undefined && { readerTimeoutMs: Math.ceil(spec.reader_timeout_s * 1000) }),
      prefillTokensPerStep: spec.n_prefill,
      passTokens: spec.n_ubatch,
      keepsAllWindows: spec.swa_full,
      keyType: spec.type_k,
      valueType: spec.type_v,
      ...(spec.mmproj_path !== undefined && { projectorPath: spec.mmproj_path }),
      ...(spec.chat_template !== undefined && { chatTemplate: spec.chat_template }),
      ...(spec.adapters && { adapters: spec.adapters.map(({ path }) => path) }),
    },
    requests.onEvent,
    (fraction) => progress(fraction, `loading ${spec.model_name}`),
  );
  const llama = new Llama(engine, requests, spec, artifactPath);
  const metrics = new LlamaMetrics(() => engine.counts, requests.waits);
  const kept = new KeptMemory(engine, spec.prefix_memory_bytes ?? 0);
  return {
    info: {
      model: spec.model_name,
      ...engine.info,
      ...(spec.adapters && { adapters: spec.adapters.map(({ name }) => name) }),
    },
    // The host has checked the arguments against the schemas of the deployment's methods.
    methods: {
      ...textMethods(llama),
      count_tokens: (args, context) => llama.countTokens(args as unknown as CountTokensArgs, context),
      tokenize: (args, context) =>
        tokenize(engine, requests, args as unknown as TokenizeArgs, context, llama.readMedia),
      detokenize: (args, context) => detokenize(engine, requests, args as { tokens: number[] }, context),
    },
    warmUp: async () =>
      void (await generate(llama, { prompt: 'Hello', sampling_params: { max_tokens: 1 } }, { signal: UNLIMITED })),
    reconfigure: async (next) => llama.reconfigure(next as LlamaSpec),
    ...engineLife(engine, gpus),
    metrics: () => {
      kept.adjust();
      return metrics.report();
    },
  };
}

class Llama implements TextModel {
  /** One more than the engine has places. */
  readonly mostPrompts: number;
  readonly #engine: NativeLlamaEngine;
  readonly #requests: LlamaRequests;
  readonly #artifactPath: StartContext['artifactPath'];
  #spec: LlamaSpec;

  constructor(
    engine: NativeLlamaEngine,
    requests: LlamaRequests,
    spec: LlamaSpec,
    artifactPath: StartContext['artifactPath'],
  ) {
    this.#engine = engine;
    this.#requests = requests;
    this.#spec = spec;
    this.#artifactPath = artifactPath;
    this.mostPrompts = spec.n_seq_max + 1;
  }

  get defaults(): SamplingParams {
    return this.#spec.default_sampling_params;
  }

  /**
   * Reads the media of a dialog. Rejects with `ImagesNotSupported` or `AudioNotSupported` if the model takes none, and
   * with `PromptTooLongException` for audio that is much too long.
   */
  readonly readMedia = async (dialog: ImageChatDialog, known?: Media): Promise<Media> => {
    const { readsImages, readsAudio } = this.#engine.info;
    const lacks = (what: string): string =>
      this.#spec.mmproj_path === undefined
        ? `set model_kwargs.mmproj to its ${what} projector` +
          (what === 'vision' ? ', or handles.ocr to a deployment that reads texts in images' : '')
        : `its projector has no encoder for ${what === 'vision' ? 'images' : 'audio'}`;
    requireTaken(dialog, {
      model: this.#spec.model_name,
      images: readsImages || lacks('vision'),
      audio: readsAudio || lacks('audio'),
    });
    requireRoom(dialog, this.#spec.model_name, this.#engine.info);
    return readMedia(dialog, this.#artifactPath, known);
  };

  /** Changes the sampling defaults for later answers. Everything else belongs to the loaded model and cannot change. */
  reconfigure(next: LlamaSpec): void {
    const { default_sampling_params: _, ...loaded } = this.#spec;
    const { default_sampling_params: defaults, ...wanted } = next;
    if (!isDeepStrictEqual(loaded, wanted))
      throw fail(
        'NotReconfigurable',
        `only default_sampling_params of the loaded ${this.#spec.model_name} can be changed`,
      );
    this.#spec = { ...this.#spec, default_sampling_params: defaults };
  }

  chatPieces(args: ChatArgs, context: CallContext): AsyncGenerator<TextChunk, GenerationDetails> {
    let prompt: Promise<FittedPrompt> | undefined;
    return this.#answers(args, context, (one, of) =>
      this.#chatPieces(one, of, () => (prompt ??= this.#fittedPrompt(args, context))),
    );
  }

  pieces(args: GenerateArgs, context: CallContext): AsyncGenerator<TextChunk, GenerationDetails> {
    return this.#answers(args, context, ({ prompt, sampling_params: sampling, ...options }, of) =>
      this.#run(promptOf(prompt), sampling, options, of),
    );
  }

  /** Runs a request of its own for each answer. The engine computes the prompt once, because they begin alike. */
  #answers<Args extends ChatArgs | GenerateArgs>(
    args: Args,
    context: CallContext,
    run: (args: Args, context: CallContext) => AsyncGenerator<TextChunk, GenerationDetails>,
  ): AsyncGenerator<TextChunk, GenerationDetails> {
    const defaults = this.#spec.default_sampling_params;
    const count = answerCount(args.sampling_params);
    if (count === 1) return run(args, context);
    return several(count, context.signal, (index, signal) =>
      run(
        { ...args, sampling_params: samplingOfAnswer(defaults, args.sampling_params, index) },
        { ...context, signal },
      ),
    );
  }

  /** Returns the prompt of a dialog, which all answers share, because media take much memory. */
  async #fittedPrompt(
    { dialog: given, sampling_params: sampling, assistant_prefix: prefix, ...options }: ChatArgs,
    context: CallContext,
  ): Promise<FittedPrompt> {
    let known: Media = new Map();
    const promptOfDialog = async (dialog: ImageChatDialog): Promise<ChatPrompt> => {
      const media = await this.readMedia(dialog, known);
      known = new Map([...known, ...media]);
      return chatPrompt(dialog, prefix ?? '', options, this.#requests.cacheKeyOf(context), media);
    };
    const { dialog, dropped } = await fitFrames(given, this.#roomForPrompt(sampling), async (some) => {
      const { prompt } = await promptOfDialog(some);
      return (await this.#requests.count(this.#engine, prompt, context)).tokens;
    });
    return { ...(await promptOfDialog(dialog)), dropped };
  }

  async *#chatPieces(
    {
      sampling_params: sampling,
      assistant_prefix: prefix,
      response_format: format,
      adapter,
      overflow,
      prompt_tokens: tellsPrompt,
      ...options
    }: ChatArgs,
    context: CallContext,
    promptOnce: () => Promise<FittedPrompt>,
  ): AsyncGenerator<TextChunk, GenerationDetails> {
    let begin = prefix ?? '';
    const names = activeTools(options).map((tool) => tool.function.name);
    const { prompt, unbound, dropped } = await promptOnce();
    const mustCall = prompt.toolRequired === true || prompt.requiredTool !== undefined;
    const ownOptions = { adapter, overflow, format, unbound, tellsPrompt, mustCall, begin };
    const run = this.#run(prompt, sampling, ownOptions, context);
    const loose = new LooseCalls(names, { parallel: options.parallel_tool_calls !== false });
    const details = yield* flatMapped(names.length > 0 ? withCalls(run, loose) : run, (piece) => {
      if (piece.text === '') return [piece];
      const chunk = { ...piece, text: begin + piece.text };
      begin = '';
      return [chunk];
    });
    if (begin !== '') yield { text: begin };
    return withDroppedFrames(details, dropped);
  }

  /** Returns the tokens that a prompt may have, so that the answer has its room: at most half of the context. */
  #roomForPrompt(sampling: SamplingParams | null | undefined): number {
    const { contextTokens } = this.#engine.info;
    const wanted = sampling?.max_tokens ?? this.#spec.default_sampling_params.max_tokens ?? contextTokens;
    return contextTokens - Math.min(wanted, Math.ceil(contextTokens / 2));
  }

  async countTokens(
    { dialog, text = '', assistant_prefix: prefix, ...options }: CountTokensArgs,
    context: CallContext,
  ): Promise<{ tokens: number; max_tokens: number }> {
    const cacheKey = this.#requests.cacheKeyOf(context);
    const prompt = dialog
      ? chatPrompt(dialog, prefix ?? '', options, cacheKey, await this.readMedia(dialog)).prompt
      : { text };
    const { tokens } = await this.#requests.count(this.#engine, prompt, context);
    return { tokens, max_tokens: this.#engine.info.contextTokens };
  }

  async *#run(
    prompt: LlamaPrompt,
    wanted: SamplingParams | null | undefined,
    { adapter, overflow, format, unbound: unboundTools = [], tellsPrompt, mustCall, begin = '' }: RunOptions,
    context: CallContext,
  ): AsyncGenerator<TextChunk, GenerationDetails, undefined> {
    const defaults = this.#spec.default_sampling_params;
    const sampling = withinLimit(defaults, wanted, context);
    const { grammar, unbound: unboundForm, quotes } = answerGrammar(mustCall ? {} : defaults, sampling, format);
    const merged = { ...mergeSampling(defaults, sampling), ...(grammar && { grammar }) };
    const options = { ...this.#adapterOf(adapter), ...this.#overflowOf(overflow) };
    const unbound = [...unboundForm, ...unboundTools];
    if (unbound.length > 0) yield { text: '', unbound };
    if (tellsPrompt) {
      const { tokens } = await this.#requests.count(this.#engine, prompt, context);
      // A prompt that is too long fails before its answer begins.
      if (tokens < this.#engine.info.contextTokens) yield { text: '', prompt_tokens: tokens };
    }
    const chunks = this.#requests.run(this.#engine, prompt, { ...merged, ...options }, context);
    if (!quotes) return yield* chunks;
    let answer = begin;
    const details = yield* flatMapped(chunks, (chunk) => {
      answer += chunk.text;
      return [chunk];
    });
    return { ...details, quotations: quotes.in(answer) };
  }

  #overflowOf(overflow: GenerateArgs['overflow']): LlamaRequestOptions {
    if (overflow == null) return {};
    if (overflow === 'shift' && !this.#engine.info.canShift)
      throw fail(
        'OverflowNotSupported',
        `${this.#spec.model_name} cannot forget a part of its context, so overflow cannot be "shift"; ` +
          `"truncate_middle" shortens the prompt`,
        { data: { model_name: this.#spec.model_name } },
      );
    return { overflow };
  }

  #adapterOf(name: string | null | undefined): LlamaRequestOptions {
    if (name == null) return {};
    const { adapters = [], model_name: model } = this.#spec;
    const index = adapters.findIndex((each) => each.name === name);
    const found = adapters[index];
    if (found) return { adapter: { index, scale: found.scale } };
    const known = adapters.map((each) => each.name).join(', ') || 'none';
    throw fail('UnknownAdapter', `${model} has no adapter ${name}; its adapters are: ${known}`, {
      data: { model_name: model, adapters: adapters.map((each) => each.name) },
    });
  }
}
