import type { LlamaGrammar } from '../../../../native/lib/index.ts';
import type { AanaError } from '../../../base/core/errors.ts';
import type { ResponseFormat, SamplingParams } from '../../../base/schemas/index.ts';
import { structuredBy } from '../../../base/schemas/structured-outputs.ts';
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
  const form = isFormat ? structuredBy(format) : (own ?? deployment.structured_outputs);
  if (!form) return { unbound: [] };
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
      unbound: own || isFormat ? unbound.map((at) => schema + at.slice(1)) : [],
    };
  } catch (error) {
    if (!(error instanceof UnusableStructure)) throw error;
    const argument = isFormat ? ['response_format'] : ['sampling_params', 'structured_outputs'];
    throw invalid(argument, error.message);
  }
}

const invalid = (argument: readonly string[], why: string): AanaError =>
  wrongArgument('InvalidSamplingParams', argument, why);
