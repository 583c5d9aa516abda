import type { GenerationDetails, TextChunk } from './chat.ts';

type Scores = { -readonly [K in 'logprobs' | 'prompt_token_ids' | 'prompt_logprobs']?: NonNullable<TextChunk[K]> };

/** The log-probabilities in the chunks of a text, put together. */
export class TokenScores {
  readonly #scores: Scores = {};

  add({ logprobs, prompt_token_ids: ids, prompt_logprobs: prompt }: TextChunk): void {
    if (logprobs) (this.#scores.logprobs ??= []).push(...logprobs);
    if (ids) (this.#scores.prompt_token_ids ??= []).push(...ids);
    if (prompt) (this.#scores.prompt_logprobs ??= []).push(...prompt);
  }

  addTo<Details extends object>(details: Details): Details & Scores {
    return { ...details, ...this.#scores };
  }
}

/** Whether a text has log-probabilities, which are told without being asked for as `details`. */
export const hasScores = ({ logprobs, prompt_logprobs: prompt }: Partial<GenerationDetails>): boolean =>
  logprobs !== undefined || prompt !== undefined;
