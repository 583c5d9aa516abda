import * as z from 'zod';
import type { TextChunk, TokenLogprob } from '../../../base/schemas/index.ts';

/** Log-probabilities in the form of completions: lists with an entry for each token. */
export const CompletionLogprobs = z.object({
  tokens: z.array(z.string()),
  token_logprobs: z.array(z.number().nullable()).describe('null for the first token of a prompt.'),
  top_logprobs: z.array(z.record(z.string(), z.number()).nullable()),
  text_offset: z.array(z.int()).describe('Where the token begins in the text.'),
});
export type CompletionLogprobs = z.input<typeof CompletionLogprobs>;

interface Scored {
  readonly token: string;
  readonly logprob: number | null;
  readonly top: Readonly<Record<string, number>> | null;
}

/** Returns the tokens of an answer. */
export function answerScores(logprobs: readonly TokenLogprob[] = []): Scored[] {
  return logprobs.map(({ token, logprob, top_logprobs: top }) => ({
    token,
    logprob,
    top: Object.fromEntries([[token, logprob], ...top.map((one) => [one.token, one.logprob] as const)]),
  }));
}

/** Returns the tokens of a prompt. `firstToken` is the text of its first token, whose score nobody knows. */
export function promptScores(
  { prompt_token_ids: ids = [], prompt_logprobs: scores = [] }: Pick<TextChunk, 'prompt_token_ids' | 'prompt_logprobs'>,
  firstToken: string,
): Scored[] {
  return ids.map((id, at) => {
    const ranked = scores[at];
    const own = ranked?.[String(id)];
    if (!ranked || !own) return { token: firstToken, logprob: null, top: null };
    return {
      token: own.decoded_token,
      logprob: own.logprob,
      top: Object.fromEntries(Object.values(ranked).map((one) => [one.decoded_token, one.logprob])),
    };
  });
}

/** Puts tokens into lists. Follows the tokens through the text, in which control tokens do not occur. */
export class LogprobLists {
  #offset = 0;

  /** `text` is the stretch of the text that these tokens made. */
  of(scored: readonly Scored[], text: string): CompletionLogprobs {
    let at = 0;
    const offsets = scored.map(({ token }) => {
      const begin = this.#offset + at;
      const rest = text.slice(at);
      if (rest.startsWith(token)) at += token.length;
      else if (at === 0 && rest.startsWith(token.trimStart())) at += token.trimStart().length;
      return begin;
    });
    this.#offset += text.length;
    return {
      tokens: scored.map(({ token }) => token),
      token_logprobs: scored.map(({ logprob }) => logprob),
      top_logprobs: scored.map(({ top }) => top),
      text_offset: offsets,
    };
  }
}
