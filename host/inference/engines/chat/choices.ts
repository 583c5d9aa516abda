// Several answers to one prompt.
import { merged } from '../../../base/core/async/merged.ts';
import type { GenerationDetails, SamplingParams, TextChunk } from '../../../base/schemas/index.ts';

const SEEDS = 2 ** 32;

/** Returns the number of answers that a request wants. */
export const answerCount = (request: SamplingParams | null | undefined): number => request?.n ?? 1;

/** Whether all answers of a request are the same. */
export const isGreedy = (deployment: SamplingParams, request: SamplingParams | null | undefined): boolean =>
  (request?.temperature ?? deployment.temperature ?? 0) === 0;

/**
 * Returns the sampling parameters of one of several answers: seeds count up from the seed of the request, and only the
 * first answer tells the log-probabilities of the prompt.
 */
export function samplingOfAnswer(
  deployment: SamplingParams,
  request: SamplingParams | null | undefined,
  index: number,
): SamplingParams {
  const seed = request?.seed ?? deployment.seed;
  const { n: _, prompt_logprobs: promptLogprobs, ...one } = request ?? {};
  return {
    ...one,
    ...(index === 0 && promptLogprobs != null && { prompt_logprobs: promptLogprobs }),
    ...(typeof seed === 'number' && { seed: (seed + index) % SEEDS }),
  };
}

/** Returns the chunk as a part of the answer with this number. */
export const numbered = (chunk: TextChunk, index: number): TextChunk => (index === 0 ? chunk : { index, ...chunk });

/**
 * Runs `count` answers at the same time, and yields their pieces as they come. When one fails, or the reader leaves,
 * the signal of the others is aborted. Returns the details of all; undefined where one has none.
 */
export async function* several<Details extends GenerationDetails | undefined>(
  count: number,
  signal: AbortSignal,
  run: (index: number, signal: AbortSignal) => AsyncIterable<TextChunk, Details>,
): AsyncGenerator<TextChunk, GenerationDetails | Extract<Details, undefined>> {
  const left = new AbortController();
  const each = AbortSignal.any([signal, left.signal]);
  const answers = merged(Array.from({ length: count }, (_, index) => run(index, each)));
  try {
    for (;;) {
      const step = await answers.next();
      if (step.done) return ofAll(step.value);
      const [index, chunk] = step.value;
      yield numbered(chunk, index);
    }
  } finally {
    left.abort();
    await answers.return([]);
  }
}

/** Returns the details of several answers. Their prompt counts once. */
export function ofAll<Details extends GenerationDetails | undefined>(
  all: readonly Details[],
): GenerationDetails | Extract<Details, undefined> {
  const known = all.flatMap((details) => details ?? []);
  const [first] = known;
  if (!first || known.length < all.length) return undefined as Extract<Details, undefined>;
  const sum = (of: (usage: GenerationDetails['usage']) => number): number =>
    known.reduce((total, { usage }) => total + of(usage), 0);
  const reasoning = sum((usage) => usage.reasoning_tokens ?? 0);
  return {
    ...first,
    usage: {
      prompt_tokens: first.usage.prompt_tokens,
      cached_tokens: first.usage.cached_tokens,
      ...(first.usage.image_tokens !== undefined && { image_tokens: first.usage.image_tokens }),
      ...(first.usage.audio_tokens !== undefined && { audio_tokens: first.usage.audio_tokens }),
      completion_tokens: sum((usage) => usage.completion_tokens),
      ...(reasoning > 0 && { reasoning_tokens: reasoning }),
    },
    choices: known,
  };
}
