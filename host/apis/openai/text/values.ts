import type * as z from 'zod';
import { newId } from '../../../base/core/ids.ts';
import type { GenerationDetails } from '../../../base/schemas/index.ts';
import type { Usage } from './answer-values.ts';

/** How many tokens a request took. */
export type OpenAiUsage = z.output<typeof Usage>;

export function usageOf({ usage, dropped }: Pick<GenerationDetails, 'usage' | 'dropped'>): OpenAiUsage {
  const { prompt_tokens: prompt, completion_tokens: completion, cached_tokens: cached } = usage;
  const { image_tokens, audio_tokens, reasoning_tokens } = usage;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: cached,
      ...(image_tokens !== undefined && { image_tokens }),
      ...(dropped?.frames !== undefined && { dropped_frames: dropped.frames }),
      ...(audio_tokens !== undefined && { audio_tokens }),
    },
    ...(reasoning_tokens !== undefined && { completion_tokens_details: { reasoning_tokens } }),
  };
}

/** Facts that all parts of an answer share. */
export interface AnswerHead {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  /** The name that the request gave. */
  readonly model: string;
}

/** Returns the head of a new answer. Its id is `prefix` and 32 hexadecimal digits. */
export function newHead(prefix: 'chatcmpl-' | 'cmpl-' | 'msg_' | 'resp_', model: string): AnswerHead {
  return { id: prefixedId(prefix), created: nowS(), model };
}

/** Returns a new id as in OpenAI's API: `prefix` and 32 hexadecimal digits. */
export function prefixedId(prefix: string): string {
  return prefix + newId().replaceAll('-', '');
}

/** Seconds since the epoch. */
export function nowS(): number {
  return Math.floor(Date.now() / 1000);
}
