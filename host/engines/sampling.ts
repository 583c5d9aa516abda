import type { LlamaSampling } from '../../native/lib/index.ts';
import type { SamplingParams } from '../schemas/index.ts';

/** Greedy sampling, at most 256 tokens, and the same seed each time. */
const DEFAULTS: LlamaSampling = {
  temperature: 0,
  topK: -1,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  seed: 42,
  maxTokens: 256,
  stop: [],
};

/**
 * Merges the defaults, the parameters of the deployment and those of the request; the later ones win. `null` sets
 * nothing.
 */
export function mergeSampling(deployment: SamplingParams, request: SamplingParams | null | undefined): LlamaSampling {
  const pick = <Key extends keyof SamplingParams>(key: Key): NonNullable<SamplingParams[Key]> | undefined =>
    request?.[key] ?? deployment[key] ?? undefined;
  return {
    temperature: pick('temperature') ?? DEFAULTS.temperature,
    topK: pick('top_k') ?? DEFAULTS.topK,
    topP: pick('top_p') ?? DEFAULTS.topP,
    minP: pick('min_p') ?? DEFAULTS.minP,
    repetitionPenalty: pick('repetition_penalty') ?? DEFAULTS.repetitionPenalty,
    seed: pick('seed') ?? DEFAULTS.seed,
    maxTokens: pick('max_tokens') ?? DEFAULTS.maxTokens,
    stop: pick('stop') ?? DEFAULTS.stop,
  };
}
