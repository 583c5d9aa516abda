import type { GenerationDetails } from '../../../base/schemas/index.ts';

/** Numbers of tokens; undefined where a result does not tell them. */
export interface GenerationUsage {
  /** Tokens of the prompts or texts. */
  readonly input?: number;
  /** Of these, tokens that were computed for an earlier request. */
  readonly cached?: number;
  /** Tokens of the answers. */
  readonly output?: number;
}

/** The phases of a request in the engine, in order, with their milliseconds. */
export type GenerationPhases = readonly (readonly [name: 'queue' | 'prefill' | 'decode', ms: number])[];

/** What results tell: the end of a stream, an answer with details, answers of a batch, or vectors. */
interface Told {
  readonly usage?: GenerationDetails['usage'];
  readonly finish_reason?: GenerationDetails['finish_reason'];
  readonly timings?: GenerationDetails['timings'];
  readonly details?: Told | readonly Told[];
  readonly tokens?: number | readonly number[];
}

/** Returns the tokens that the result of a method for generation tells. */
export function usageOf(result: unknown): GenerationUsage {
  const { tokens } = (result ?? {}) as Told;
  if (tokens !== undefined) return { input: sum([tokens].flat()) };
  const usages = answersOf(result).flatMap(({ usage }) => usage ?? []);
  if (usages.length === 0) return {};
  return {
    input: sum(usages.map((one) => one.prompt_tokens)),
    cached: sum(usages.map((one) => one.cached_tokens)),
    output: sum(usages.map((one) => one.completion_tokens)),
  };
}

/** Returns why the answers of a result ended. */
export function finishReasonsOf(result: unknown): string[] {
  return answersOf(result).flatMap(({ finish_reason: reason }) => reason ?? []);
}

/** Returns the phases of a result with one answer. */
export function phasesOf(result: unknown): GenerationPhases {
  const [only, ...others] = answersOf(result);
  if (!only?.timings || others.length > 0) return [];
  const { queue_ms: queue, prompt_ms: prefill, completion_ms: decode } = only.timings;
  return [
    ['queue', queue],
    ['prefill', prefill],
    ['decode', decode],
  ];
}

/** Returns what a result tells of each answer: the end of a stream itself, or the details of answers. */
function answersOf(result: unknown): readonly Told[] {
  const told = (result ?? {}) as Told;
  return told.usage ? [told] : [told.details ?? []].flat().filter((one) => one !== null);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
