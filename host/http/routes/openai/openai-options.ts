import type { ModelDirectory } from '../../../openai/index.ts';

/** Settings of the routes below `/v1`. */
export interface OpenAiRoutesOptions {
  /** Whether the routes are served. Otherwise they say that they are off. */
  readonly enabled: boolean;
  /** Whether a parameter without effect is refused. Otherwise a header of the answer names it. */
  readonly strict: boolean;
  readonly models: ModelDirectory;
}
