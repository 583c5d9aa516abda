import type { GenerationDetails } from '../../schemas/index.ts';

/** Numbers of tokens; undefined where a result does not tell them. */
export interface GenerationUsage {
  /** Tokens of the prompts or texts. */
  readonly input?: number;
  /** Tokens of the answers. */
  readonly output?: number;
}

/** What results tell: the end of a stream, an answer with details, answers of a batch, or vectors. */
interface Told {
  readonly usage?: GenerationDetails['usage'];
  readonly details?: Told | readonly Told[];
  readonly tokens?: number | readonly number[];
}

/** Returns the tokens that the result of a method for generation tells. */
export function usageOf(result: unknown): GenerationUsage {
  const { usage, details, tokens } = (result ?? {}) as Told;
  if (tokens !== undefined) return { input: sum([tokens].flat()) };
  const usages = usage ? [usage] : [details ?? []].flat().flatMap((one) => one?.usage ?? []);
  if (usages.length === 0) return {};
  return {
    input: sum(usages.map((one) => one.prompt_tokens)),
    output: sum(usages.map((one) => one.completion_tokens)),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
