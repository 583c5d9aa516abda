import { randomInt } from 'node:crypto';
import type { LlamaSampling } from '../../../native/lib/index.ts';
import type { AanaError } from '../../base/core/errors.ts';
import type { RequestContext } from '../../base/core/request-context.ts';
import type { SamplingParams } from '../../base/schemas/index.ts';
import { wrongArgument } from './wrong-argument.ts';

/** Tokens of an answer where neither the request nor the deployment says how many. */
const DEFAULT_MAX_TOKENS = 256;

type PickValue = <Key extends keyof SamplingParams>(key: Key) => NonNullable<SamplingParams[Key]> | undefined;

/**
 * Merges the defaults, the parameters of the deployment and those of the request; the later ones win. `null` sets
 * nothing. The defaults are greedy sampling, at most 256 tokens, and a random seed. The form of the answer is left out.
 * Throws `InvalidSamplingParams` when parameters contradict each other.
 */
export function mergeSampling(deployment: SamplingParams, request: SamplingParams | null | undefined): LlamaSampling {
  const pick: PickValue = (key) => request?.[key] ?? deployment[key] ?? undefined;
  const maxTokens = pick('max_tokens') ?? DEFAULT_MAX_TOKENS;
  const minTokens = pick('min_tokens') ?? 0;
  if (minTokens > maxTokens)
    throw invalid('min_tokens', `it is ${minTokens}, which is more than max_tokens, ${maxTokens}`);
  return {
    temperature: pick('temperature') ?? 0,
    topK: pick('top_k') ?? -1,
    topP: likelyTopP(pick('top_p') ?? 1),
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
    ...logprobsOf(pick),
    reproducible: pick('reproducible') ?? false,
  };
}

/** Returns the parameters of a request with at most as many tokens as its user may get. */
export function withinLimit(
  deployment: SamplingParams,
  request: SamplingParams | null | undefined,
  { maxOutputTokens: most = Infinity }: Pick<RequestContext, 'maxOutputTokens'>,
): SamplingParams | null | undefined {
  const wanted = request?.max_tokens ?? deployment.max_tokens ?? DEFAULT_MAX_TOKENS;
  if (wanted <= most) return request;
  const least = Math.min(request?.min_tokens ?? deployment.min_tokens ?? 0, most);
  return { ...request, max_tokens: most, min_tokens: least };
}

/** Less than the probability of the likeliest token of any vocabulary. */
const LEAST_TOP_P = 1e-7;

/** Returns a value that engines and other servers take: none of them takes 0, which keeps the likeliest token. */
export const likelyTopP = (topP: number): number => Math.max(topP, LEAST_TOP_P);

function logprobsOf(pick: PickValue): Partial<LlamaSampling> {
  const logprobs = pick('logprobs');
  const promptLogprobs = pick('prompt_logprobs');
  return { ...(logprobs !== undefined && { logprobs }), ...(promptLogprobs !== undefined && { promptLogprobs }) };
}

function dryOf(pick: PickValue): Partial<LlamaSampling> {
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

function xtcOf(pick: PickValue): Partial<LlamaSampling> {
  const probability = pick('xtc_probability') ?? 0;
  return probability === 0 ? {} : { xtc: { probability, threshold: pick('xtc_threshold') ?? 0.1 } };
}

function mirostatOf(pick: PickValue): Partial<LlamaSampling> {
  const version = pick('mirostat') ?? 0;
  if (version !== 1 && version !== 2) return {};
  return { mirostat: { version, tau: pick('mirostat_tau') ?? 5, eta: pick('mirostat_eta') ?? 0.1 } };
}

const invalid = (name: string, why: string): AanaError =>
  wrongArgument('InvalidSamplingParams', ['sampling_params', name], why);
