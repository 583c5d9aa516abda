import { randomInt } from 'node:crypto';
import type { LlamaGrammar, LlamaSampling } from '../../native/lib/index.ts';
import { AanaError } from '../core/errors.ts';
import type { ResponseFormat, SamplingParams } from '../schemas/index.ts';
import { structuredBy } from '../schemas/structured-outputs.ts';
import { structuredGrammar, UnusableStructure } from '../structured-output/index.ts';

type Pick = <Key extends keyof SamplingParams>(key: Key) => NonNullable<SamplingParams[Key]> | undefined;

/**
 * Merges the defaults, the parameters of the deployment and those of the request; the later ones win. `null` sets
 * nothing. The defaults are greedy sampling, at most 256 tokens, and a random seed. `format` is the form of the answer
 * in OpenAI's notation. Throws `InvalidSamplingParams` when
 * parameters contradict each other.
 */
export function mergeSampling(
  deployment: SamplingParams,
  request: SamplingParams | null | undefined,
  format?: ResponseFormat | null,
): LlamaSampling {
  const pick: Pick = (key) => request?.[key] ?? deployment[key] ?? undefined;
  const maxTokens = pick('max_tokens') ?? 256;
  const minTokens = pick('min_tokens') ?? 0;
  if (minTokens > maxTokens) throw invalid(`min_tokens is ${minTokens}, which is more than max_tokens, ${maxTokens}`);
  return {
    temperature: pick('temperature') ?? 0,
    topK: pick('top_k') ?? -1,
    topP: pick('top_p') ?? 1,
    minP: pick('min_p') ?? 0,
    typicalP: pick('typical_p') ?? 1,
    repetitionPenalty: pick('repetition_penalty') ?? 1,
    presencePenalty: pick('presence_penalty') ?? 0,
    frequencyPenalty: pick('frequency_penalty') ?? 0,
    ...dryOf(pick),
    ...xtcOf(pick),
    ...mirostatOf(pick),
    logitBias: Object.entries(pick('logit_bias') ?? {}).map(([token, bias]) => ({ token: Number(token), bias })),
    badWords: pick('bad_words') ?? [],
    seed: pick('seed') ?? randomInt(2 ** 32),
    maxTokens,
    minTokens,
    ignoreEos: pick('ignore_eos') ?? false,
    stop: pick('stop') ?? [],
    stopTokenIds: pick('stop_token_ids') ?? [],
    ...grammarOf(pick, request, format),
    ...logprobsOf(pick),
    reproducible: pick('reproducible') ?? false,
  };
}

function logprobsOf(pick: Pick): Partial<LlamaSampling> {
  const logprobs = pick('logprobs');
  const promptLogprobs = pick('prompt_logprobs');
  return { ...(logprobs !== undefined && { logprobs }), ...(promptLogprobs !== undefined && { promptLogprobs }) };
}

function dryOf(pick: Pick): Partial<LlamaSampling> {
  const multiplier = pick('dry_multiplier') ?? 0;
  const breakers = pick('dry_sequence_breakers');
  if (multiplier === 0) return {};
  return {
    dry: {
      multiplier,
      base: pick('dry_base') ?? 1.75,
      allowedLength: pick('dry_allowed_length') ?? 2,
      lastTokens: pick('dry_penalty_last_n') ?? -1,
      ...(breakers && { sequenceBreakers: breakers }),
    },
  };
}

function xtcOf(pick: Pick): Partial<LlamaSampling> {
  const probability = pick('xtc_probability') ?? 0;
  return probability === 0 ? {} : { xtc: { probability, threshold: pick('xtc_threshold') ?? 0.1 } };
}

function mirostatOf(pick: Pick): Partial<LlamaSampling> {
  const version = pick('mirostat') ?? 0;
  if (version !== 1 && version !== 2) return {};
  return { mirostat: { version, tau: pick('mirostat_tau') ?? 5, eta: pick('mirostat_eta') ?? 0.1 } };
}

/**
 * Returns the grammar of the answer: of `response_format`, or else of `structured_outputs`. Throws
 * `InvalidSamplingParams`, which names the place, for a form that cannot be made into a grammar.
 */
function grammarOf(
  pick: Pick,
  request: SamplingParams | null | undefined,
  format: ResponseFormat | null | undefined,
): { grammar?: LlamaGrammar } {
  const { structured_outputs: own } = request ?? {};
  if (own && format && format.type !== 'text')
    throw invalid('response_format and sampling_params.structured_outputs exclude each other');
  const structured = own ?? (format ? structuredBy(format) : pick('structured_outputs'));
  if (!structured) return {};
  try {
    return { grammar: { text: structuredGrammar(structured), closes: structured.close_json ?? false } };
  } catch (error) {
    if (!(error instanceof UnusableStructure)) throw error;
    throw invalid(`${own || !format ? 'sampling_params.structured_outputs' : 'response_format'}: ${error.message}`);
  }
}

const invalid = (message: string): AanaError => new AanaError('InvalidSamplingParams', 'bad-request', message);
