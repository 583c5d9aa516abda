import { type AanaError, fail } from '../../../../base/core/errors.ts';
import { wrongArgument } from '../../wrong-argument.ts';
import type { PipelineModel } from '../pipeline-model.ts';
import type { Seq2SeqFacts } from './generation.ts';

/** The arguments of a call beside its texts or images, which the host has checked, without those that are null. */
export interface Seq2SeqArguments {
  readonly max_new_tokens?: number;
  readonly min_new_tokens?: number;
  readonly truncation?: boolean;
  readonly src_lang?: string;
  readonly tgt_lang?: string;
}

const DEFAULT_TOKENS = 256;
const LANGUAGES = ['src_lang', 'tgt_lang'] as const;
/** Most codes of languages that a message names. */
const NAMED_LANGUAGES = 20;

/** Checks what a model that generates texts reads, and bounds its answers. */
export class Seq2Seq {
  /** The arguments that a call does not set. */
  readonly defaults: Seq2SeqArguments;
  readonly #model: PipelineModel;
  readonly #facts: Seq2SeqFacts;

  constructor(model: PipelineModel, facts: Seq2SeqFacts, defaults: Seq2SeqArguments) {
    this.#model = model;
    this.#facts = facts;
    this.defaults = defaults;
  }

  /** The arguments for trying. */
  get example(): Seq2SeqArguments {
    const [language] = this.#facts.languages ?? [];
    const translated = language === undefined ? {} : { src_lang: language, tgt_lang: language };
    return { ...translated, ...this.defaults, ...{ max_new_tokens: 1, min_new_tokens: 0 } };
  }

  /**
   * Returns the options of the pipeline for a call with these arguments. Rejects with `EmptyPrompt` or
   * `PromptTooLongException` for a text that the model cannot read whole, and with `ValidationError` for an argument
   * that it does not take.
   */
  async options(items: readonly unknown[], args: Seq2SeqArguments, signal: AbortSignal): Promise<object> {
    const { max_new_tokens: wanted = DEFAULT_TOKENS, min_new_tokens: least = 0, truncation = false, ...rest } = args;
    if (least > wanted) throw this.#wrong('min_new_tokens', `${least} is more than max_new_tokens, which is ${wanted}`);
    this.#requireLanguages(args);
    for (const [index, item] of items.entries())
      if (typeof item === 'string') await this.#requireText(item, `the text at index ${index}`, truncation, signal);
    const most = Math.min(wanted, this.#facts.maxAnswer ?? wanted);
    const own = { max_new_tokens: most, min_new_tokens: Math.min(least, most) };
    return Object.assign({}, rest, own, { do_sample: false, num_beams: 1, num_return_sequences: 1 });
  }

  #requireLanguages(args: Seq2SeqArguments): void {
    const { languages } = this.#facts;
    const { name: model } = this.#model;
    for (const name of LANGUAGES) {
      const language = args[name];
      if (!languages && language !== undefined)
        throw this.#wrong(name, `${model} translates from one language into one other`);
      if (!languages || (language !== undefined && languages.includes(language))) continue;
      const some = languages.slice(0, NAMED_LANGUAGES).join(', ') + (languages.length > NAMED_LANGUAGES ? ', …' : '');
      const is = language === undefined ? 'is missing' : `${JSON.stringify(language)} is no language of the model`;
      throw this.#wrong(name, `${is}; the languages of ${model} are ${some}`);
    }
  }

  async #requireText(text: string, name: string, isCut: boolean, signal: AbortSignal): Promise<void> {
    const { text: facts } = this.#facts;
    if (!facts) return;
    const model = this.#model.name;
    const { tokens: [tokens = []] = [] } = await this.#model.ask({ texts: [text] }, signal);
    if (text.trim() === '' || tokens.length === 0)
      throw fail('EmptyPrompt', `${name} is empty; ${model} needs at least one character`, {
        data: { model_name: model },
      });
    const length = tokens.length + facts.begin.length + facts.end.length;
    const { maxTokens = Infinity } = facts;
    if (length <= maxTokens || isCut) return;
    throw fail(
      'PromptTooLongException',
      `${model} cannot take the text: ${name} has ${length} tokens, the limit is ${maxTokens}; ` +
        'truncation: true cuts it',
      { data: { prompt_len: length, max_len: maxTokens } },
    );
  }

  #wrong(name: string, msg: string): AanaError {
    return wrongArgument('ValidationError', [name], msg);
  }
}
