import type { LlamaScoredToken, LlamaTokenScores } from '../../native/lib/index.ts';
import type { TokenLogprob } from '../schemas/index.ts';

/** Stands for minus infinity, which JSON does not have, as in OpenAI's API and vLLM. */
const IMPOSSIBLE = -9999;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

const scored = ({ id, bytes, logprob }: LlamaScoredToken): Omit<TokenLogprob, 'top_logprobs'> => ({
  token: decoder.decode(bytes),
  id,
  logprob: Math.max(logprob, IMPOSSIBLE),
  bytes: [...bytes],
});

/** Returns a token of an answer as OpenAI's API describes it. */
export const logprobOf = (scores: LlamaTokenScores): TokenLogprob => ({
  ...scored(scores),
  top_logprobs: scores.top.map(scored),
});
