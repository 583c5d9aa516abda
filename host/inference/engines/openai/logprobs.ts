import * as z from 'zod/mini';
import type { ScoredToken, TokenLogprob } from '../../../base/schemas/index.ts';
import { AnswerFormatError } from './format-error.ts';

// The rule for promises takes `z.catch` for the method of a promise.
const { catch: orElse } = z;

const scored = {
  token: z.string(),
  id: orElse(z.optional(z.int().check(z.minimum(0))), undefined),
  logprob: z.number(),
  bytes: orElse(z.optional(z.nullable(z.array(z.int()))), undefined),
};
const Scored = z.object(scored);

/** The log-probabilities of a piece of an answer: `content`, or for a text of vLLM the other three. */
export const Logprobs = z.object({
  content: z.optional(z.nullable(z.array(z.object({ ...scored, top_logprobs: z.array(Scored) })))),
  tokens: z.optional(z.nullable(z.array(z.string()))),
  token_logprobs: z.optional(z.nullable(z.array(z.nullable(z.number())))),
  top_logprobs: z.optional(z.nullable(z.array(z.nullable(z.record(z.string(), z.number()))))),
});

/** The smallest logarithm in an answer, as in OpenAI's API. It stands for a probability of 0. */
const LEAST_LOGPROB = -9999;

/** How vLLM names a token of which only the number was asked for. */
const NUMBERED = /^token_id:(\d{1,10})$/;

/**
 * Returns the tokens of a piece of an answer, each with at most `most` alternatives; undefined when it tells none.
 * Tokens that vLLM names by number have no text yet. Throws {@link AnswerFormatError}.
 */
export function scoredTokens(
  { content, tokens, token_logprobs: logprobs, top_logprobs: top }: z.infer<typeof Logprobs>,
  most: number,
): TokenLogprob[] | undefined {
  const alternatives = (all: readonly z.infer<typeof Scored>[]): ScoredToken[] =>
    all
      .toSorted((a, b) => b.logprob - a.logprob)
      .slice(0, most)
      .map(scoredToken);
  if (content)
    return content.map(({ top_logprobs: all, ...token }) => ({
      ...scoredToken(token),
      top_logprobs: alternatives(all),
    }));
  return tokens?.map((token, index) => {
    const all = Object.entries(top?.[index] ?? {}).map(([name, logprob]) => ({ token: name, logprob }));
    const own = { token, logprob: logprobs?.[index] ?? LEAST_LOGPROB };
    return { ...scoredToken(own), top_logprobs: alternatives(all) };
  });
}

function scoredToken({ token, id, logprob, bytes }: z.infer<typeof Scored>): ScoredToken {
  const number = NUMBERED.exec(token)?.[1];
  const bounded = Math.min(0, Math.max(LEAST_LOGPROB, logprob));
  if (number !== undefined && id === undefined) return { token: '', id: Number(number), logprob: bounded, bytes: [] };
  if (id === undefined) throw new AnswerFormatError('a token has no number');
  return { token, id, logprob: bounded, bytes: bytes ?? [...Buffer.from(token)] };
}
