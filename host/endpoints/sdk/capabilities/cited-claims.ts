import * as z from 'zod/mini';
import type { SamplingParams } from '../../../base/schemas/index.ts';
import { HostError } from '../host-error.ts';
import type { DialogInput, Llm } from './deployments.ts';

/** Makes the schema of claims about sources with these names, for the output of an endpoint. */
export const claimSchema = <const Name extends string>(sources: readonly [Name, ...Name[]]) =>
  z.strictObject({
    claim: z.string().check(z.describe('A short sentence.')),
    quotes: z
      .array(
        z.strictObject({
          text: z.string().check(z.describe('At least five words, as they stand in the source.')),
          start: z.number().check(z.describe('Where the part of the source with the first word begins, in seconds.')),
          end: z.number().check(z.describe('Where the part of the source with the last word ends, in seconds.')),
          source: z.enum(sources),
        }),
      )
      .check(z.minLength(1)),
  });

/** A sentence of an answer, with the passages of the sources that it rests on. */
export type Claim<Name extends string = string> = z.infer<ReturnType<typeof claimSchema<Name>>>;

/** A part of a source, with its times in seconds. */
export interface SourcePart {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

export interface CitingOptions<Name extends string> {
  /** What may be quoted, by names: the parts of each source in the order of their starts. */
  readonly sources: Readonly<Partial<Record<Name, readonly SourcePart[]>>>;
  /** Default: 5. */
  readonly mostClaims?: number | undefined;
  /**
   * What the model writes first of a claim. Default: `quotes`, so that the claim follows from them. With `claim`, small
   * models write shorter claims, and more of them.
   */
  readonly first?: 'claim' | 'quotes' | undefined;
  /** Without `structured_outputs`, `stop` and `stop_token_ids`. */
  readonly sampling_params?: SamplingParams | null | undefined;
}

/** A small model goes on and on: it repeats itself, and copies. */
const MOST = { claims: 5, quotes: 2, words: 30, characters: 300 } as const;

/** The form of the answer: the parts of a claim in the order in which the model writes them. */
function formOf(mostClaims: number, first: 'claim' | 'quotes'): Record<string, unknown> {
  const quotes = { type: 'array', minItems: 1, maxItems: MOST.quotes, items: { type: 'string', format: 'quote' } };
  const claim = { type: 'string', minLength: 1, maxLength: MOST.characters };
  const properties = first === 'claim' ? { claim, quotes } : { quotes, claim };
  const items = { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
  return {
    type: 'object',
    properties: { claims: { type: 'array', minItems: 1, maxItems: mostClaims, items } },
    required: ['claims'],
    additionalProperties: false,
  };
}

interface Written {
  readonly claims: readonly { readonly claim: string; readonly quotes: readonly string[] }[];
}

/**
 * Answers a dialog with claims, each of which has one or two quotations of the sources, of 5 to 30 words. The dialog
 * should have the sources and ask for JSON with `claims`, each with `quotes` and `claim` in the order of `first`.
 * Leaves out a claim that repeats another one or that the end of the answer cuts. Rejects with `InvalidSamplingParams`
 * for parameters that give the answer another form, and for sources without enough words.
 */
export async function citedClaims<Name extends string>(
  llm: Pick<Llm, 'chat'>,
  dialog: DialogInput,
  { sources, mostClaims = MOST.claims, first = 'quotes', sampling_params: sampling }: CitingOptions<Name>,
): Promise<Claim<Name>[]> {
  for (const name of ['structured_outputs', 'stop', 'stop_token_ids'] as const)
    if (sampling?.[name] != null)
      throw new HostError(
        'InvalidSamplingParams',
        'bad-request',
        `an answer with quotations excludes sampling_params.${name}`,
      );
  const names = Object.keys(sources) as Name[];
  const structured_outputs = {
    ...{ json: formOf(mostClaims, first), max_words: MOST.words },
    quote_of: names.map((name) => sources[name]!.map(({ text, start, end }) => ({ text, start, end }))),
  };
  const { message, details } = await llm
    .chat(dialog, { sampling_params: { ...sampling, structured_outputs }, details: true })
    .catch((error: unknown) => failCite(error));
  const passages = new Map(details?.quotations?.map((quotation) => [quotation.text, quotation]));
  const { claims: written } = parsed(message.content ?? '');
  const whole = details?.finish_reason === 'length' && written.length > 1 ? written.slice(0, -1) : written;
  const claims = new Map<string, Claim<Name>>();
  for (const { claim, quotes } of whole) {
    // Without a quotation that the end of the answer cuts.
    const found = [...new Set(quotes)].flatMap((quote) => passages.get(quote) ?? []);
    if (claim.trim() === '' || found.length === 0 || claims.has(claim)) continue;
    claims.set(claim, {
      claim,
      quotes: found.map(({ text, start, end, source }) => ({
        ...{ text, start: start!, end: end! },
        source: names[source]!,
      })),
    });
  }
  return [...claims.values()];
}

/** None if the context ended before the form of the answer did. */
function parsed(content: string): Written {
  try {
    return JSON.parse(content) as Written;
  } catch {
    return { claims: [] };
  }
}

/** Throws the error of a chat. The caller wrote no form of the answer, and does not know this one. */
function failCite(error: unknown): never {
  if (error instanceof HostError && error.name === 'InvalidSamplingParams' && Array.isArray(error.data)) {
    const [problem] = error.data as { readonly loc?: readonly unknown[]; readonly msg?: string }[];
    if (problem?.loc?.includes('structured_outputs'))
      throw new HostError(
        error.name,
        error.kind,
        `quotations are not possible: ${problem.msg?.replace(/^quote_of: /, '')}`,
      );
  }
  throw error;
}
