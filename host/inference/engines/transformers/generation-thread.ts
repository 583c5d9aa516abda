// The entry of the thread that generates texts with a model of Transformers.js.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import type { Refusal } from '../onnx/compute-thread.ts';
import { reasonOf } from '../onnx/runtime.ts';
import { DialogText } from './dialog-text.ts';
import { loadTransformers, modelOptions } from './library.ts';
import { TOKEN_CHARACTERS } from './readable-texts.ts';
import { NoToken, Sampler, type Sampling } from './sampler.ts';
import { TextOfTokens } from './text-of-tokens.ts';

export interface GenerationSpec {
  /** File of Transformers.js. */
  readonly transformers: string;
  /** Folder of the configuration and the tokenizer. */
  readonly folder: string;
  /** Name of the model's file in the folder `onnx` below it, without `.onnx`. */
  readonly file: string;
  readonly threads: number;
  /** Jinja template that replaces the model's template. */
  readonly chat_template?: string;
}

/** What the thread tells of its model. */
export interface LoadedModel {
  readonly vocabulary: number;
  /** Tokens that end an answer. */
  readonly ends: readonly number[];
}

/** Messages and further arguments of a chat template. */
export interface Dialog {
  readonly messages: readonly object[];
  readonly templateArguments: Readonly<Record<string, unknown>>;
  /** Text with which the answer begins. */
  readonly prefix: string;
}

export type GenerationQuestion =
  | { readonly kind: 'tokenize'; readonly text: string; readonly hasOuterTokens: boolean; readonly most: number }
  | { readonly kind: 'tokenize-dialog'; readonly dialog: Dialog; readonly most: number }
  /** Asks for the text of each token, and of all. */
  | { readonly kind: 'detokenize'; readonly tokens: readonly number[] }
  /** Begins an answer under a number that the caller chooses. */
  | { readonly kind: 'begin'; readonly id: number; readonly prompt: readonly number[]; readonly rules: AnswerRules }
  /** Computes a part of the prompt, or the next token. */
  | { readonly kind: 'step'; readonly id: number }
  /** Forgets an answer, and tells the text that its last tokens left. */
  | { readonly kind: 'end'; readonly id: number };

export interface AnswerRules {
  readonly sampling: Sampling;
  /** Tokens before which the answer ends. */
  readonly ends: readonly number[];
}

/** Of a text with more than `most` tokens, perhaps only the beginning, which has more than `most`, too. */
export interface Tokens {
  readonly tokens: readonly number[];
  /** Whether the text may have further tokens. */
  readonly isPart: boolean;
}

export interface Texts {
  readonly texts: readonly string[];
  readonly text: string;
}

/** What a step computed. Without a token, the prompt is not read to its end. */
export interface Step {
  readonly token?: number;
  /** The text that is known with the token and was not before. */
  readonly text?: string;
  /** Whether the token ends the answer and is no part of it. */
  readonly isEnd?: boolean;
  /** Why no token can be chosen. */
  readonly failure?: string;
}

export interface Rest {
  readonly text: string;
}

/** Tokens of a prompt that are computed in one step. Between steps, other answers go on and calls can be cancelled. */
const TOKENS_OF_STEP = 128;

/** The used part of Transformers.js. */
interface Transformers {
  readonly AutoTokenizer: { from_pretrained(folder: string, options: object): Promise<Tokenizer> };
  readonly AutoModelForCausalLM: { from_pretrained(folder: string, options: object): Promise<Model> };
  readonly Tensor: new (type: string, data: BigInt64Array, dims: readonly number[]) => Tensor;
}

interface Tokenizer {
  apply_chat_template(messages: readonly object[], options: object): string;
  encode(text: string, options: object): number[];
  decode(tokens: readonly number[], options: object): string;
}

interface Tensor {
  readonly dims: readonly number[];
  readonly data: Float32Array;
  to(type: 'float32'): Tensor;
}

type Ends = number | readonly number[] | null | undefined;

interface Model {
  readonly config: {
    readonly vocab_size?: number;
    readonly eos_token_id?: Ends;
  };
  readonly generation_config?: { readonly eos_token_id?: Ends } | null;
  forward(inputs: object): Promise<Readonly<Record<string, Tensor>>>;
}

const port = parentPort!;
const spec = workerData as GenerationSpec;

/** Returns the texts of the tokens that are no texts of users. */
async function controlTexts(folder: string): Promise<string[]> {
  const { added_tokens: added } = JSON.parse(await readFile(path.join(folder, 'tokenizer.json'), 'utf8')) as {
    added_tokens?: readonly { readonly content: string; readonly special: boolean }[];
  };
  return (added ?? []).filter(({ special }) => special).map(({ content }) => content);
}

class Generator {
  readonly #tokenizer: Tokenizer;
  readonly #model: Model;
  readonly #library: Transformers;
  readonly #dialogs: DialogText;
  readonly #answers = new Map<number, Answer>();

  private constructor(library: Transformers, tokenizer: Tokenizer, model: Model, dialogs: DialogText) {
    this.#library = library;
    this.#tokenizer = tokenizer;
    this.#model = model;
    this.#dialogs = dialogs;
  }

  static async load({ transformers, folder, file, threads }: GenerationSpec): Promise<Generator> {
    const library = loadTransformers<Transformers>(transformers);
    const tokenizer = await library.AutoTokenizer.from_pretrained(folder, { local_files_only: true });
    const model = await library.AutoModelForCausalLM.from_pretrained(folder, {
      ...modelOptions(threads),
      model_file_name: file,
      dtype: 'fp32', // adds nothing to the name
    });
    return new Generator(library, tokenizer, model, new DialogText(await controlTexts(folder)));
  }

  get loaded(): LoadedModel {
    const { config, generation_config: generation } = this.#model;
    const ends = [generation?.eos_token_id, config.eos_token_id].flatMap((each) => each ?? []);
    return {
      vocabulary: config.vocab_size ?? Infinity,
      ends: [...new Set(ends)],
    };
  }

  answer(question: GenerationQuestion): Promise<object> | object {
    switch (question.kind) {
      case 'tokenize':
        return this.#tokensOf([question.text], question.hasOuterTokens, question.most);
      case 'tokenize-dialog':
        return this.#tokensOf(this.#partsOf(question.dialog), false, question.most);
      case 'detokenize': {
        const texts = question.tokens.map((token) => this.#textOf([token], false));
        return { texts, text: this.#textOf(question.tokens, false) } satisfies Texts;
      }
      case 'begin':
        this.#answers.set(
          question.id,
          new Answer(question.prompt, question.rules, new TextOfTokens((tokens) => this.#textOf(tokens, true))),
        );
        return {};
      case 'step':
        return this.#answers.get(question.id)!.step((tokens, all, past) => this.#compute(tokens, all, past));
      case 'end': {
        const text = this.#answers.get(question.id)?.text.end() ?? '';
        this.#answers.delete(question.id);
        return { text } satisfies Rest;
      }
      default:
        return question satisfies never;
    }
  }

  /** Reads texts one by one, so no token is of two of them. */
  #tokensOf(texts: readonly string[], hasOuterTokens: boolean, most: number): Tokens {
    const read = (text: string): number[] => this.#tokenizer.encode(text, { add_special_tokens: hasOuterTokens });
    const tokens: number[] = [];
    for (const [at, text] of texts.entries()) {
      if (text.length > most * TOKEN_CHARACTERS) {
        const beginning = read(text.slice(0, most * TOKEN_CHARACTERS));
        if (beginning.length > most) return { tokens: [...tokens, ...beginning], isPart: true };
      }
      for (const token of read(text)) tokens.push(token);
      if (tokens.length > most) return { tokens, isPart: at < texts.length - 1 };
    }
    return { tokens, isPart: false };
  }

  #partsOf(dialog: Dialog): string[] {
    return this.#dialogs.parts(dialog, ({ messages, templateArguments, prefix }) => {
      const text = this.#tokenizer.apply_chat_template(messages, {
        ...templateArguments,
        ...{ tokenize: false, add_generation_prompt: true, tools: null, documents: null },
        chat_template: spec.chat_template ?? null,
      });
      return text + prefix;
    });
  }

  #textOf(tokens: readonly number[], skipsControl: boolean): string {
    if (tokens.length === 0) return '';
    return this.#tokenizer.decode(tokens, { skip_special_tokens: skipsControl, clean_up_tokenization_spaces: false });
  }

  async #compute(tokens: readonly number[], all: number, past: Cache | undefined): Promise<Computed> {
    const { Tensor } = this.#library;
    const outputs = await this.#model.forward({
      input_ids: new Tensor('int64', BigInt64Array.from(tokens, BigInt), [1, tokens.length]),
      attention_mask: new Tensor('int64', new BigInt64Array(all).fill(1n), [1, all]),
      num_logits_to_keep: new Tensor('int64', BigInt64Array.of(1n), []),
      ...(past && { past_key_values: past }),
    });
    const { logits } = outputs;
    if (!logits) throw new Error('it has no output logits');
    const { data, dims } = logits.to('float32');
    const cache = Object.entries(outputs).flatMap(([name, tensor]) =>
      name.startsWith('present') ? [[name.replace('present', 'past_key_values'), tensor] as const] : [],
    );
    return { logits: data.subarray(data.length - (dims.at(-1) ?? 0)), cache: Object.fromEntries(cache) };
  }
}

/** Keys and values of computed tokens, by the names of the inputs. */
type Cache = Readonly<Record<string, Tensor>>;

interface Computed {
  /** Of the last token. */
  readonly logits: Float32Array;
  readonly cache: Cache;
}

/** An answer that is being generated. */
class Answer {
  readonly text: TextOfTokens;
  readonly #sampler: Sampler;
  readonly #ends: ReadonlySet<number>;
  /** Tokens that are not computed. */
  #waiting: readonly number[];
  #computed = 0;
  #cache: Cache | undefined;

  constructor(prompt: readonly number[], { sampling, ends }: AnswerRules, text: TextOfTokens) {
    this.#waiting = prompt;
    this.#sampler = new Sampler(sampling, prompt);
    this.#ends = new Set(ends);
    this.text = text;
  }

  async step(
    compute: (tokens: readonly number[], all: number, cache: Cache | undefined) => Promise<Computed>,
  ): Promise<Step> {
    const tokens = this.#waiting.slice(0, TOKENS_OF_STEP);
    this.#computed += tokens.length;
    const { logits, cache } = await compute(tokens, this.#computed, this.#cache);
    this.#cache = cache;
    this.#waiting = this.#waiting.slice(tokens.length);
    if (this.#waiting.length > 0) return {};
    try {
      const token = this.#sampler.choose(logits);
      this.#waiting = [token];
      return this.#ends.has(token) ? { token, text: '', isEnd: true } : { token, text: this.text.add(token) };
    } catch (error) {
      if (error instanceof NoToken) return { failure: error.message };
      throw error;
    }
  }
}

try {
  const generator = await Generator.load(spec);
  port.on('message', async (question: GenerationQuestion) => {
    try {
      port.postMessage(await generator.answer(question));
    } catch (error) {
      port.postMessage({ reason: reasonOf(error) } satisfies Refusal);
    }
  });
  port.postMessage(generator.loaded);
} catch (error) {
  port.postMessage({ reason: reasonOf(error) } satisfies Refusal);
}
