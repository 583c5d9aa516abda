// Runs in a replica: vectors of texts with llama.cpp.
import type { LlamaEmbeddingLoadOptions } from '../../../native/lib/index.ts';
import type { AanaError } from '../../base/core/errors.ts';
import { fail } from '../../base/core/errors.ts';
import type { Implementation, StartContext } from '../replicas/process/implementation.ts';
import type { CallContext } from '../rpc/index.ts';
import { EmbeddingEngine, type EmbeddingModelSpec, nextSettings } from './embedding-engine.ts';
import { finishedVector, vectorsOf } from './vectors.ts';

/** The configuration of a replica, made by `inference/deployments/builtin/llama-embedding-deployment.ts`. */
interface EmbeddingSpec extends EmbeddingModelSpec {
  readonly pooling?: LlamaEmbeddingLoadOptions['pooling'];
  readonly settings: EmbeddingSettings;
}

interface EmbeddingSettings {
  readonly normalize: boolean;
  readonly truncate: 'none' | 'start' | 'end';
  readonly prompts: Readonly<Record<string, string>>;
  readonly dimensions?: number;
  readonly default_prompt_name?: string;
}

interface EmbedOptions {
  readonly prompt_name?: string | null;
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

export async function start(spec: EmbeddingSpec, context: StartContext): Promise<Implementation> {
  const task = { task: 'embed', ...(spec.pooling !== undefined && { pooling: spec.pooling }) } as const;
  const embedder = new Embedder(await EmbeddingEngine.load(spec, task, context), spec);
  return {
    ...embedder.engine.life,
    // The host has checked the arguments against the schemas of the deployment's methods.
    methods: {
      embed: (args, call) => embedder.embed(args as unknown as EmbedOptions & { text: string }, call),
      embed_batch: (args, call) => embedder.embedBatch(args as unknown as BatchArgs, call),
      count_tokens: (args, call) => embedder.count(args as unknown as EmbedOptions & { text: string }, call),
    },
    warmUp: async () => void (await embedder.embed({ text: 'Hello' }, { signal: UNLIMITED })),
    reconfigure: async (next) => embedder.reconfigure(next as EmbeddingSpec),
  };
}

class Embedder {
  readonly engine: EmbeddingEngine;
  #spec: EmbeddingSpec;

  /** Throws `ValidationError` when the settings do not fit the model. */
  constructor(engine: EmbeddingEngine, spec: EmbeddingSpec) {
    this.engine = engine;
    this.#spec = spec;
    this.#require(spec.settings);
  }

  reconfigure(next: EmbeddingSpec): void {
    const settings = nextSettings(this.#spec, next);
    this.#require(settings);
    this.#spec = { ...this.#spec, settings };
  }

  async embed(
    { text, ...options }: EmbedOptions & { readonly text: string },
    context: CallContext,
  ): Promise<{ embedding: number[]; tokens: number }> {
    const { embedding, tokens } = await this.embedBatch({ ...options, sentences: [text] }, context);
    return { embedding: embedding[0] ?? [], tokens: tokens[0] ?? 0 };
  }

  async embedBatch(
    { sentences, ...options }: BatchArgs,
    context: CallContext,
  ): Promise<{ embedding: number[][]; tokens: number[] }> {
    const { settings } = this.#spec;
    const dimensions = options.dimensions ?? settings.dimensions;
    this.#requireDimensions(dimensions);
    this.#requireRoom(sentences.length, dimensions ?? this.engine.info.dimensions);
    const prompt = this.#promptOf(options.prompt_name);
    const texts = sentences.map((sentence) => (typeof sentence === 'string' ? prompt + sentence : sentence));
    const answer = await this.engine.run({ texts }, options.truncate ?? settings.truncate, context);
    const finish = { dimensions, isNormalized: options.normalize ?? settings.normalize };
    const vectors = vectorsOf(answer.values, this.engine.info.dimensions);
    return { embedding: vectors.map((vector) => finishedVector(vector, finish)), tokens: [...answer.tokens] };
  }

  count(
    { text, prompt_name: name }: EmbedOptions & { readonly text: string },
    context: CallContext,
  ): Promise<{ tokens: number; max_tokens: number }> {
    return this.engine.count({ texts: [this.#promptOf(name) + text] }, context);
  }

  #promptOf(name: string | null | undefined): string {
    const { prompts, default_prompt_name: usual } = this.#spec.settings;
    const wanted = name ?? usual;
    if (wanted === undefined) return '';
    if (Object.hasOwn(prompts, wanted)) return prompts[wanted] ?? '';
    const known = Object.keys(prompts).map((known) => `"${known}"`);
    throw this.#refusal(
      'UnknownPrompt',
      `has no prompt "${wanted}"; ${known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`}`,
    );
  }

  #require({ dimensions }: EmbeddingSettings): void {
    const { dimensions: most } = this.engine.info;
    if (dimensions === undefined || dimensions <= most) return;
    throw fail(
      'ValidationError',
      `user_config: dimensions: ${this.engine.modelName} has ${most} dimensions, fewer than ${dimensions}`,
    );
  }

  #requireDimensions(dimensions: number | undefined): void {
    const { dimensions: most } = this.engine.info;
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
    const { modelName } = this.engine;
    return fail(name, `${modelName} ${what}`, { data: { model_name: modelName } });
  }
}
