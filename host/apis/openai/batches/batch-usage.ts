/** How many tokens a request of a batch took. */
export interface BatchUsage {
  readonly input_tokens: number;
  readonly cached_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
}

export const NO_USAGE: BatchUsage = { input_tokens: 0, cached_tokens: 0, output_tokens: 0, reasoning_tokens: 0 };

type Counts = Readonly<Record<string, unknown>>;

/** Returns the tokens of an answer. Chat completions, responses and messages have different names for them. */
export function batchUsageOf(answer: object): BatchUsage {
  const { usage } = answer as { readonly usage?: Counts };
  if (!usage) return NO_USAGE;
  return {
    input_tokens:
      count(usage, 'prompt_tokens') || count(usage, 'input_tokens') + count(usage, 'cache_read_input_tokens'),
    cached_tokens:
      count(usage['prompt_tokens_details'], 'cached_tokens') ||
      count(usage['input_tokens_details'], 'cached_tokens') ||
      count(usage, 'cache_read_input_tokens'),
    output_tokens: count(usage, 'completion_tokens') || count(usage, 'output_tokens'),
    reasoning_tokens:
      count(usage['completion_tokens_details'], 'reasoning_tokens') ||
      count(usage['output_tokens_details'], 'reasoning_tokens') ||
      count(usage['output_tokens_details'], 'thinking_tokens'),
  };
}

function count(counts: unknown, name: string): number {
  const value = (counts as Counts | undefined)?.[name];
  return typeof value === 'number' ? value : 0;
}
