// Runs in the thread of a pipeline that generates texts out of texts, images or audio.
import type { Pulse } from '../../onnx/pulse.ts';
import { leastLength, type TextFacts, textFactsOf, type Tokenizer, tokensOf } from '../token-vectors.ts';

/** What is known of a model that generates texts. */
export interface Seq2SeqFacts {
  /** Of a model that reads texts. */
  readonly text?: TextFacts;
  /** Most tokens of an answer, as far as the model states it. */
  readonly maxAnswer?: number;
  /** Codes of the languages of a model that translates between several. */
  readonly languages?: readonly string[];
}

/** The used part of a pipeline that generates texts. */
export interface Seq2SeqPipeline {
  readonly task: string;
  readonly tokenizer: Seq2SeqTokenizer;
  readonly model: { readonly config: Positions & { readonly decoder?: Positions } & Prefixes };
}

interface Seq2SeqTokenizer extends Tokenizer {
  readonly language_codes?: readonly string[];
  /** Reads texts, when the tokenizer is called as a function. */
  _call(...args: readonly unknown[]): { readonly input_ids: { readonly data: BigInt64Array } };
}

interface Positions {
  readonly max_position_embeddings?: unknown;
  readonly n_positions?: unknown;
}

interface Prefixes {
  readonly prefix?: string | null;
  readonly task_specific_params?: Readonly<Record<string, { readonly prefix?: string | null } | undefined>> | null;
}

type Logits = { readonly data: Float32Array };

/** The next token cannot be chosen, because its numbers are not finite. */
export class NotFinite extends Error {}

/** Returns options of `generate` with which it counts its steps, and ends when nobody waits for it. */
export const watched = (options: unknown, pulse: Pulse): object => ({
  ...(options as object | undefined),
  stopping_criteria: [
    (answers: readonly unknown[]): boolean[] => {
      pulse.step();
      return answers.map(() => pulse.isStopped);
    },
  ],
  logits_processor: [
    (_answers: unknown, logits: Logits): Logits => {
      for (const logit of logits.data) if (Number.isNaN(logit) || logit === Infinity) throw new NotFinite();
      return logits;
    },
  ],
});

/** Makes a tokenizer cut a text so that the tokens after it stay, which the model was trained with. */
function cutAt(most: number, end: readonly number[], tokenizer: Seq2SeqTokenizer): void {
  const read = tokenizer._call.bind(tokenizer);
  Object.defineProperty(tokenizer, 'model_max_length', { value: most });
  tokenizer._call = (...args) => {
    const inputs = read(...args);
    const { data } = inputs.input_ids;
    if (data.length === most) data.set(end.map(BigInt), most - end.length);
    return inputs;
  };
}

/** Returns what is known of a model. Its tokenizer then cuts texts at the limit of the model. */
export function seq2seqFactsOf({ task, tokenizer, model: { config } }: Seq2SeqPipeline): Seq2SeqFacts {
  const decoder = config.decoder ?? config;
  const maxAnswer = leastLength(decoder.max_position_embeddings, decoder.n_positions);
  const answer = maxAnswer === undefined ? {} : { maxAnswer };
  if (task === 'image-to-text') return answer;
  const text = textFactsOf(tokenizer, leastLength(config.max_position_embeddings, config.n_positions));
  if (text.maxTokens !== undefined) cutAt(text.maxTokens, text.end, tokenizer);
  const languages = '_build_translation_inputs' in tokenizer ? (tokenizer.language_codes ?? []) : undefined;
  return { text, ...answer, ...(languages && { languages }) };
}

/** Returns the tokens of a text with what the pipeline puts before it, without those that the model wants around it. */
export function readTokensOf({ task, tokenizer, model: { config } }: Seq2SeqPipeline, text: string): number[] {
  const prefix = (config.task_specific_params?.[task]?.prefix ?? '') + (config.prefix ?? '');
  return tokensOf(tokenizer, prefix + text);
}
