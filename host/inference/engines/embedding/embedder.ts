import { type AanaError, fail } from '../../../base/core/errors.ts';
import type { Implementation } from '../../replicas/process/implementation.ts';
import type { CallContext } from '../../rpc/index.ts';
import { nextSettings } from './next-settings.ts';
import { finishedVector, vectorsOf } from './vectors.ts';

export type Truncate = 'none' | 'start' | 'end';

/** What computes vectors of texts in a replica. */
export interface VectorEngine {
  readonly modelName: string;
  readonly info: {
    /** Numbers of a vector. */
    readonly dimensions: number;
    /** Most tokens of a text. */
    readonly maxTokens: number;
  };
  /**
   * Returns the vectors of texts, or of their tokens, one after the other in `values`, with the number of tokens of
   * each text. Throws the signal's reason, `PromptTooLongException`, `EmptyPrompt` or `InvalidPrompt`.
   */
  run(
    input: { readonly texts: readonly (string | readonly number[])[] },
    truncate: Truncate,
    context: CallContext,
  ): Promise<{ readonly values: Float32Array; readonly tokens: Iterable<number> }>;
  /** Returns how many tokens the text has, and how many it may have. */
  count(
    input: { readonly texts: readonly string[] },
    context: CallContext,
  ): Promise<{ tokens: number; max_tokens: number }>;
}

/** The part of a replica's configuration that these methods need. Settings can change while it runs. */
export interface EmbedderSpec {
  readonly model_name: string;
  readonly settings: EmbeddingSettings;
}

interface EmbeddingSettings {
  readonly normalize: boolean;
  readonly truncate: Truncate;
  readonly prompts: Readonly<Record<string, string>>;
  readonly dimensions?: number;
  readonly default_prompt_name?: string;
}

interface PromptChoice {
  readonly prompt_name?: string | null;
  readonly input_type?: string | null;
}

interface EmbedOptions extends PromptChoice {
  readonly dimensions?: number | null;
  readonly normalize?: boolean | null;
  readonly truncate?: EmbeddingSettings['truncate'] | null;
}

type BatchArgs = EmbedOptions & { readonly sentences: readonly (string | readonly number[])[] };

/**
 * Most numbers in one answer. As JSON they have at most 55 MB, and a message of a replica has at most 64 MiB.
 */
const MAX_NUMBERS = 2_500_000;

/** A signal without a limit, because the host ends a replica whose warm-up makes no progress. */
const UNLIMITED = new AbortController().signal;

/** The methods of a deployment of a model for embeddings, over any engine. */
export class Embedder {
  readonly #engine: VectorEngine;
  #spec: EmbedderSpec;

  /** Throws `ValidationError` when the settings do not fit the model. */
  constructor(engine: VectorEngine, spec: EmbedderSpec) {
    this.#engine = engine;
    this.#spec = spec;
    this.#require(spec.settings);
  }

  /** The part of an implementation for the methods. The host has checked the arguments against their schemas. */
  get served(): Required<Pick<Implementation, 'methods' | 'warmUp' | 'reconfigure'>> {
    return {
      methods: {
        embed: (args, call) => this.#embed(args as unknown as EmbedOptions & { text: string }, call),
        embed_batch: (args, call) => this.#embedBatch(args as unknown as BatchArgs, call),
        count_tokens: (args, call) => this.#count(args as unknown as EmbedOptions & { text: string }, call),
      },
      warmUp: async () => void (await this.#embed({ text: 'Hello' }, { signal: UNLIMITED })),
      reconfigure: async (next) => this.#reconfigure(next as EmbedderSpec),
    };
  }

  #reconfigure(next: EmbedderSpec): void {
    const settings = nextSettings(this.#spec, next);
    this.#require(settings);
    this.#spec = { ...this.#spec, settings };
  }

  async #embed(
    { text, ...options }: EmbedOptions & { readonly text: string },
    context: CallContext,
  ): Promise<{ embedding: number[]; tokens: number }> {
    const { embedding, tokens } = await this.#embedBatch({ ...options, sentences: [text] }, context);
    return { embedding: embedding[0] ?? [], tokens: tokens[0] ?? 0 };
  }

  async #embedBatch(
    { sentences, ...options }: BatchArgs,
    context: CallContext,
  ): Promise<{ embedding: number[][]; tokens: number[] }> {
    const { settings } = this.#spec;
    const dimensions = options.dimensions ?? settings.dimensions;
    this.#requireDimensions(dimensions);
    this.#requireRoom(sentences.length, dimensions ?? this.#engine.info.dimensions);
    const prompt = this.#promptOf(options);
    const texts = sentences.map((sentence) => (typeof sentence === 'string' ? prompt + sentence : sentence));
    const answer = await this.#engine.run({ texts }, options.truncate ?? settings.truncate, context);
    const finish = { dimensions, isNormalized: options.normalize ?? settings.normalize };
    const vectors = vectorsOf(answer.values, this.#engine.info.dimensions);
    return { embedding: vectors.map((vector) => finishedVector(vector, finish)), tokens: [...answer.tokens] };
  }

  #count(
    { text, ...choice }: PromptChoice & { readonly text: string },
    context: CallContext,
  ): Promise<{ tokens: number; max_tokens: number }> {
    return this.#engine.count({ texts: [this.#promptOf(choice) + text] }, context);
  }

  #promptOf({ prompt_name: name, input_type: type }: PromptChoice): string {
    const { prompts, default_prompt_name: usual } = this.#spec.settings;
    const wanted = name ?? (type != null && Object.hasOwn(prompts, type) ? type : usual);
    if (wanted === undefined) return '';
    if (Object.hasOwn(prompts, wanted)) return prompts[wanted] ?? '';
    const known = Object.keys(prompts).map((known) => `"${known}"`);
    throw this.#refusal(
      'UnknownPrompt',
      `has no prompt "${wanted}"; ${known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`}`,
    );
  }

  #require({ dimensions }: EmbeddingSettings): void {
    const { dimensions: most } = this.#engine.info;
    if (dimensions === undefined || dimensions <= most) return;
    throw fail(
      'ValidationError',
      `user_config: dimensions: ${this.#engine.modelName} has ${most} dimensions, fewer than ${dimensions}`,
    );
  }

  #requireDimensions(dimensions: number | undefined): void {
    const { dimensions: most } = this.#engine.info;
    if (dimensions !== undefined && dimensions > most)
      throw this.#refusal('TooManyDimensions', `has ${most} dimensions, fewer than ${dimensions}`);
  }

  #requireRoom(count: number, dimensions: number): void {
    if (count * dimensions <= MAX_NUMBERS) return;
    const most = Math.floor(MAX_NUMBERS / dimensions);
    throw this.#refusal(
      'TooManyTexts',
      `cannot return ${count} vectors of ${dimensions} numbers at once; send at most ${most} texts`,
    );
  }

  #refusal(name: 'UnknownPrompt' | 'TooManyDimensions' | 'TooManyTexts', what: string): AanaError {
    const { modelName } = this.#engine;
    return fail(name, `${modelName} ${what}`, { data: { model_name: modelName } });
  }
}
