import { type AanaError, fail } from '../../../base/core/errors.ts';
import { InferenceException } from '../../replicas/process/inference-exception.ts';
import type { CallContext } from '../../rpc/index.ts';
import type { Truncate, VectorEngine } from '../embedding/embedder.ts';
import type { PipelineModel } from './pipeline-model.ts';
import { requireReadable, TOKEN_CHARACTERS } from './readable-texts.ts';
import type { Pooling, TextModelFacts } from './token-vectors.ts';

export interface TextVectorsOptions {
  readonly pooling: Pooling;
  /** Most tokens of a text. Undefined: what the model states. */
  readonly maxTokens: number | undefined;
}

/** What was read of a text. */
interface InnerTokens {
  readonly tokens: readonly number[];
  /** Whether it has further tokens. */
  readonly isPart: boolean;
}

interface Row {
  readonly index: number;
  readonly tokens: readonly number[];
}

/** Most tokens of a text whose tokenizer and model state no limit. */
const USUAL_MAX_TOKENS = 512;
/**
 * Tokens that are computed together, with those that fill shorter texts up. More take longer for each token, because
 * they leave the processor's cache, and fewer do, because each computation costs something.
 */
const BATCH_TOKENS = 512;
/** Characters of a text that are read together for tokens. */
const BATCH_CHARACTERS = 100_000;

/** Vectors of texts with a model of Transformers.js. */
export class TextVectors implements VectorEngine {
  readonly modelName: string;
  readonly info: { readonly dimensions: number; readonly maxTokens: number; readonly pooling: Pooling };
  readonly #facts: TextModelFacts;
  readonly #model: PipelineModel;

  /** Throws `ValidationError` where no token of a text is left beside those that the model wants around it. */
  constructor(model: PipelineModel, facts: TextModelFacts, { pooling, maxTokens }: TextVectorsOptions) {
    const stated = facts.maxTokens ?? USUAL_MAX_TOKENS;
    const most = maxTokens === undefined ? stated : Math.min(maxTokens, facts.maxTokens ?? maxTokens);
    this.modelName = model.name;
    this.#model = model;
    this.#facts = facts;
    this.info = { dimensions: facts.dimensions, maxTokens: most, pooling };
    if (most <= this.#around)
      throw fail(
        'ValidationError',
        `user_config: max_seq_length: ${model.name} needs more than ${this.#around} tokens`,
      );
  }

  async run(
    { texts }: { readonly texts: readonly (string | readonly number[])[] },
    truncate: Truncate,
    { signal, progress }: CallContext,
  ): Promise<{ readonly values: Float32Array; readonly tokens: readonly number[] }> {
    const rows = await this.#rows(texts, truncate, signal);
    const { dimensions, pooling } = this.info;
    const values = new Float32Array(rows.length * dimensions);
    let done = 0;
    for (const batch of batches(rows)) {
      const { vectors = [] } = await this.#model.ask({ rows: batch.map((row) => row.tokens), pooling }, signal);
      for (const [at, { index }] of batch.entries()) values.set(vectors[at]!, index * dimensions);
      done += batch.length;
      progress?.(done / rows.length);
    }
    if (!values.every(Number.isFinite))
      throw new InferenceException(this.modelName, 'it answers numbers that are not finite');
    return { values, tokens: rows.map(({ tokens }) => tokens.length) };
  }

  async count(
    { texts }: { readonly texts: readonly string[] },
    { signal }: CallContext,
  ): Promise<{ tokens: number; max_tokens: number }> {
    const [inner = []] = await this.#tokens(texts, signal);
    return { tokens: inner.length + this.#around, max_tokens: this.info.maxTokens };
  }

  get #around(): number {
    return this.#facts.begin.length + this.#facts.end.length;
  }

  /** Returns the tokens of each text, cut as the caller wants. */
  async #rows(texts: readonly (string | readonly number[])[], truncate: Truncate, signal: AbortSignal): Promise<Row[]> {
    const strings = texts.filter((text) => typeof text === 'string');
    const inner = (await this.#innerTokens(strings, truncate, signal)).values();
    return texts.map((text, index) => {
      const name = `the text at index ${index}`;
      if (typeof text !== 'string')
        return { index, tokens: this.#cut({ tokens: this.#known(text, name), isPart: false }, 0, truncate, name) };
      const kept = this.#cut(inner.next().value!, this.#around, truncate, name);
      const tokens = [...this.#facts.begin, ...kept, ...this.#facts.end];
      if (tokens.length > 0) return { index, tokens };
      throw this.#refusal('EmptyPrompt', `${name} is empty; ${this.modelName} needs at least one character`);
    });
  }

  /** Returns the tokens of the texts. Of a text that is certainly too long it reads only the part that is kept. */
  async #innerTokens(texts: readonly string[], truncate: Truncate, signal: AbortSignal): Promise<InnerTokens[]> {
    const { maxTokens } = this.info;
    const most = maxTokens * TOKEN_CHARACTERS;
    const shortened = texts.map((text) => (truncate === 'start' ? text.slice(-most) : text.slice(0, most)));
    const inner: InnerTokens[] = [];
    for (const [at, tokens] of (await this.#tokens(shortened, signal)).entries()) {
      const text = texts[at] ?? '';
      const isPart = text.length > most && tokens.length > maxTokens;
      // A shortened text with few tokens is read again, because its rest may fit, too.
      const isReadAgain = text.length > most && !isPart;
      inner.push({ tokens: isReadAgain ? ((await this.#tokens([text], signal))[0] ?? []) : tokens, isPart });
    }
    return inner;
  }

  /** Returns the tokens of texts, which the thread reads in several steps. Throws `InvalidPrompt` for huge ones. */
  async #tokens(texts: readonly string[], signal: AbortSignal): Promise<(readonly number[])[]> {
    for (const text of texts) requireReadable(text.length, this.modelName);
    const all: (readonly number[])[] = [];
    while (all.length < texts.length) {
      const step: string[] = [];
      for (let characters = 0; characters < BATCH_CHARACTERS && all.length + step.length < texts.length;) {
        const text = texts[all.length + step.length] ?? '';
        characters += text.length;
        step.push(text);
      }
      const { tokens = [] } = await this.#model.ask({ texts: step }, signal);
      all.push(...tokens);
    }
    return all;
  }

  #known(tokens: readonly number[], name: string): readonly number[] {
    const { vocabulary } = this.#facts;
    const unknown = tokens.find((token) => token < 0 || token >= vocabulary);
    if (unknown === undefined) return tokens;
    const known = `the tokens of the model are 0 to ${vocabulary - 1}`;
    throw this.#refusal(
      'InvalidPrompt',
      `${this.modelName} cannot take the text: ${name} has the token ${unknown}, but ${known}`,
    );
  }

  #cut({ tokens, isPart }: InnerTokens, around: number, truncate: Truncate, name: string): readonly number[] {
    const { maxTokens } = this.info;
    const room = maxTokens - around;
    if (tokens.length <= room) return tokens;
    if (truncate === 'end') return tokens.slice(0, room);
    if (truncate === 'start') return tokens.slice(-room);
    const length = tokens.length + around;
    const all = isPart ? `more than ${length}` : length;
    throw fail(
      'PromptTooLongException',
      `${this.modelName} cannot take the text: ${name} has ${all} tokens, the limit is ${maxTokens}`,
      { data: { prompt_len: length, max_len: maxTokens } },
    );
  }

  #refusal(name: 'EmptyPrompt' | 'InvalidPrompt', message: string): AanaError {
    return fail(name, message, { data: { model_name: this.modelName } });
  }
}

/** Puts texts of similar length together, because shorter ones are filled up. */
function batches(rows: readonly Row[]): Row[][] {
  const all: Row[][] = [];
  for (const row of rows.toSorted((one, other) => other.tokens.length - one.tokens.length)) {
    const last = all.at(-1);
    if (last && (last.length + 1) * (last[0]?.tokens.length ?? 0) <= BATCH_TOKENS) last.push(row);
    else all.push([row]);
  }
  return all;
}
