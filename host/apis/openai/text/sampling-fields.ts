import * as z from 'zod';
import {
  type SamplingParams,
  SamplingParams as Sampling,
  type StructuredOutputs,
  MAX_TEXT,
  MAX_NAME,
  anyObject,
  MAX_CHOICES,
} from '../../../base/schemas/index.ts';
import type { Blame } from '../blame.ts';
import { invalidValue } from '../fields.ts';

/** The model of a request that may name an adapter. */
export const AdaptableModel = z
  .string()
  .min(1)
  .max(MAX_NAME)
  .describe('A deployment, an alias, the id of a model, or one of these with `:adapter`.');

const own = Sampling.shape;
const JsonSchema = z.union([anyObject, z.boolean(), z.string().max(MAX_TEXT)]);

/**
 * How the tokens of an answer are chosen, and what ends it: parameters of OpenAI's API, then the extensions of vLLM and
 * llama-server.
 */
export const tokenFields = {
  temperature: own.temperature.check(z.describe("0 is greedy. Default: the deployment's.")),
  top_p: own.top_p,
  frequency_penalty: own.frequency_penalty,
  presence_penalty: own.presence_penalty,
  logit_bias: own.logit_bias,
  seed: z.nullish(z.int()).describe('Two seeds that differ by a multiple of 2^32 are the same.'),
  stop: z
    .nullish(z.union([z.string().min(1).max(MAX_TEXT), own.stop]))
    .describe('A text or at most 16 texts that end the answer.'),
  top_k: z.nullish(z.int().min(-1)).describe('0 and -1 are off.'),
  min_p: own.min_p,
  typical_p: own.typical_p,
  min_tokens: own.min_tokens,
  repetition_penalty: own.repetition_penalty,
  repeat_penalty: own.repetition_penalty.check(z.describe('The same as repetition_penalty, as in llama-server.')),
  dry_multiplier: own.dry_multiplier,
  dry_base: own.dry_base,
  dry_allowed_length: own.dry_allowed_length,
  dry_penalty_last_n: own.dry_penalty_last_n,
  dry_sequence_breakers: own.dry_sequence_breakers,
  xtc_probability: own.xtc_probability,
  xtc_threshold: own.xtc_threshold,
  mirostat: own.mirostat,
  mirostat_tau: own.mirostat_tau,
  mirostat_eta: own.mirostat_eta,
  ignore_eos: own.ignore_eos,
  bad_words: own.bad_words,
  stop_token_ids: own.stop_token_ids,
  reproducible: own.reproducible,
} as const;

/** Sampling parameters of requests for texts: those of OpenAI's API, and the extensions of vLLM and llama-server. */
export const samplingFields = {
  ...tokenFields,
  n: own.n,
  max_tokens: z.nullish(z.int().min(1)),
  structured_outputs: own.structured_outputs.check(z.describe('The form of the answer, as in vLLM.')),
  guided_json: z.nullish(JsonSchema).describe('A JSON Schema that the answer obeys, as in vLLM.'),
  guided_regex: z
    .nullish(z.string().max(MAX_TEXT))
    .describe('A regular expression that the whole answer matches, as in vLLM.'),
  guided_choice: z
    .nullish(z.array(z.string().max(MAX_TEXT)).max(MAX_CHOICES))
    .describe('Texts, one of which the answer is, as in vLLM.'),
  guided_grammar: z.nullish(z.string().max(MAX_TEXT)).describe('A grammar of the answer, as in vLLM.'),
  grammar: z.nullish(z.string().max(MAX_TEXT)).describe('A grammar (GBNF) of the answer, as in llama-server.'),
  json_schema: z.nullish(JsonSchema).describe('A JSON Schema that the answer obeys, as in llama-server.'),
} as const;

const SamplingFields = z.object(samplingFields);
type SamplingFields = z.output<typeof SamplingFields>;

/** Fields whose name and meaning are the same in a deployment. */
const SAME = [
  ...([
    'temperature',
    'top_p',
    'frequency_penalty',
    'presence_penalty',
    'logit_bias',
    'n',
    'min_p',
    'typical_p',
  ] as const),
  ...(['min_tokens', 'dry_multiplier', 'dry_base', 'dry_allowed_length', 'dry_penalty_last_n'] as const),
  ...(['dry_sequence_breakers', 'xtc_probability', 'xtc_threshold', 'mirostat', 'mirostat_tau'] as const),
  ...(['mirostat_eta', 'ignore_eos', 'bad_words', 'stop_token_ids', 'reproducible'] as const),
] as const;

const SEEDS = 2n ** 32n;

/** Returns the sampling parameters for a deployment. Throws `InvalidParameter` where fields exclude each other. */
export function samplingOf(fields: SamplingFields, maxTokens: number | undefined): SamplingParams {
  const sampling: Record<string, unknown> = {};
  for (const name of SAME) if (fields[name] != null) sampling[name] = fields[name];
  const { top_k: topK, seed, stop } = fields;
  if (topK != null) sampling['top_k'] = topK === 0 ? -1 : topK;
  if (seed != null) sampling['seed'] = Number(BigInt.asUintN(32, BigInt(seed) % SEEDS));
  if (stop != null && stop.length > 0) sampling['stop'] = typeof stop === 'string' ? [stop] : stop;
  const repetition = fields.repetition_penalty ?? fields.repeat_penalty;
  if (repetition != null) sampling['repetition_penalty'] = repetition;
  const form = formOf(fields);
  if (form) sampling['structured_outputs'] = form;
  if (maxTokens !== undefined) sampling['max_tokens'] = maxTokens;
  return sampling as SamplingParams;
}

/** Forms of answers by the fields that ask for them. */
const FORMS = [
  ['structured_outputs', undefined],
  ['guided_json', 'json'],
  ['guided_regex', 'regex'],
  ['guided_choice', 'choice'],
  ['guided_grammar', 'grammar'],
  ['grammar', 'grammar'],
  ['json_schema', 'json'],
] as const satisfies readonly (readonly [keyof SamplingFields, keyof StructuredOutputs | undefined])[];

const givenForms = (fields: SamplingFields) => FORMS.filter(([name]) => (fields[name] ?? '') !== '');

/** Returns the form of the answer that fields other than `response_format` ask for. */
export function formOf(fields: SamplingFields): StructuredOutputs | undefined {
  const [first, second] = givenForms(fields);
  if (!first) return undefined;
  if (second) throw invalidValue(second[0], `it cannot be used together with ${first[0]}`);
  const [name, form] = first;
  return (form === undefined ? fields[name] : { [form]: fields[name] }) as StructuredOutputs;
}

/** Where the sampling parameters of a deployment are in a request. */
export function samplingBlame(fields: SamplingFields): Blame {
  const [name, form] = givenForms(fields)[0] ?? [];
  return {
    sampling_params: '',
    ...(fields.repetition_penalty == null && { 'sampling_params.repetition_penalty': 'repeat_penalty' }),
    // What engines say about the text of a grammar names no argument.
    ...(name !== undefined && { InvalidSamplingParams: name, 'sampling_params.structured_outputs': name }),
    ...(name !== undefined && form !== undefined && { [`sampling_params.structured_outputs.${form}`]: name }),
  };
}
