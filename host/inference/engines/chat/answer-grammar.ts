import type { LlamaGrammar } from '../../../../native/lib/index.ts';
import type { AanaError } from '../../../base/core/errors.ts';
import type { ResponseFormat, SamplingParams } from '../../../base/schemas/index.ts';
import { type StructuredOutputs, structuredBy } from '../../../base/schemas/structured-outputs.ts';
import { type Quotes, structuredGrammar, UnusableStructure } from '../../../base/structured-output/index.ts';
import { wrongArgument } from '../wrong-argument.ts';

/** The grammar of an answer; undefined for text. */
export interface AnswerGrammar {
  readonly grammar?: LlamaGrammar;
  /** The sources that the answer quotes. */
  readonly quotes?: Quotes;
  /** Places in the arguments of the call: keywords of the schema that do not bind the answer, as JSON pointers. */
  readonly unbound: readonly string[];
}

/**
 * Returns the grammar of the answer: of `response_format`, or else of `structured_outputs` of the request, or else of
 * the deployment. Throws `InvalidSamplingParams`, which names the argument and the place in it, for a form that cannot
 * be made into a grammar.
 */
export function answerGrammar(
  deployment: SamplingParams,
  request: SamplingParams | null | undefined,
  format: ResponseFormat | null | undefined,
): AnswerGrammar {
  const own = request?.structured_outputs;
  if (own && format && format.type !== 'text')
    throw invalid(['response_format'], 'sampling_params.structured_outputs excludes it');
  const isFormat = !own && format != null;
  const structured = own ?? deployment.structured_outputs;
  const [given, form] = isFormat ? [format, structuredBy(format)] : [structured, structured];
  if (!given || !form) return { unbound: [] };
  let grammar = known.get(given);
  if (!grammar) known.set(given, (grammar = grammarOf(form, { isFormat, isDefault: !own && !isFormat })));
  return grammar;
}

/**
 * Grammars by the objects that say the form. Several answers to a request, and the prompts of a batch, have the same
 * one: sources of quotations take long to be divided into words.
 */
const known = new WeakMap<object, AnswerGrammar>();

interface Origin {
  /** Whether the form comes from `response_format`. */
  readonly isFormat: boolean;
  /** Whether the form comes from the deployment. */
  readonly isDefault: boolean;
}

function grammarOf(form: StructuredOutputs, { isFormat, isDefault }: Origin): AnswerGrammar {
  try {
    const { text, unbound, quotes } = structuredGrammar(form);
    const schema = isFormat ? '#/response_format/json_schema/schema' : '#/sampling_params/structured_outputs/json';
    return {
      grammar: {
        text,
        // A quotation that is cut within a word would say something else.
        closes: form.close_json ?? quotes !== undefined,
        ...(quotes && { quotable: quotes.quotable() }),
      },
      ...(quotes && { quotes }),
      unbound: isDefault ? [] : unbound.map((at) => schema + at.slice(1)),
    };
  } catch (error) {
    if (!(error instanceof UnusableStructure)) throw error;
    const argument = isFormat ? ['response_format'] : ['sampling_params', 'structured_outputs'];
    throw invalid(argument, error.message);
  }
}

const invalid = (argument: readonly string[], why: string): AanaError =>
  wrongArgument('InvalidSamplingParams', argument, why);
