import type {
  LlamaPromptToken,
  LlamaScoredToken,
  LlamaTokenScores,
  WhisperNativeToken,
} from '../../../native/lib/index.ts';
import type { PromptLogprob, ScoredToken, TokenLogprob } from '../../base/schemas/index.ts';

/** Stands for minus infinity, which JSON does not have, as in OpenAI's API and vLLM. */
const IMPOSSIBLE = -9999;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Returns a token of an engine as OpenAI's API describes it. Rounding may give the engine's numbers a wrong sign. */
export const scored = ({ id, bytes, logprob }: LlamaScoredToken | WhisperNativeToken): ScoredToken => ({
  token: decoder.decode(bytes),
  id,
  logprob: Math.min(0, Math.max(logprob, IMPOSSIBLE)),
  bytes: [...bytes],
});

/** Returns a token of an answer as OpenAI's API describes it. */
export const logprobOf = (scores: LlamaTokenScores): TokenLogprob => ({
  ...scored(scores),
  top_logprobs: scores.top.map(scored),
});

/** Returns tokens of a prompt as vLLM describes them: the token itself and the likeliest ones, by their numbers. */
export function promptLogprobsOf(tokens: readonly LlamaPromptToken[]): {
  prompt_token_ids: number[];
  prompt_logprobs: (Record<string, PromptLogprob> | null)[];
} {
  return { prompt_token_ids: tokens.map(({ id }) => id), prompt_logprobs: tokens.map(promptLogprobOf) };
}

function promptLogprobOf({ id, bytes, logprob, rank, top }: LlamaPromptToken): Record<string, PromptLogprob> | null {
  if (logprob === undefined || rank === undefined) return null;
  const ranked = (top ?? []).map((token, index) => [token.id, rankedOf(token, index + 1)] as const);
  return Object.fromEntries([...ranked, [id, rankedOf({ id, bytes, logprob }, rank)]]);
}

function rankedOf({ bytes, logprob }: LlamaScoredToken, rank: number): PromptLogprob {
  return { logprob: Math.max(logprob, IMPOSSIBLE), rank, decoded_token: decoder.decode(bytes) };
}
