import type { AanaError } from '../../../base/core/errors.ts';
import type { SamplingParams } from '../../../base/schemas/index.ts';
import { activeTools } from '../chat/chat-prompt.ts';
import type { ChatArgs } from '../chat/text-arguments.ts';
import type { mergeSampling } from '../sampling.ts';
import { wrongArgument } from '../wrong-argument.ts';

type Merged = ReturnType<typeof mergeSampling>;

const HINT = 'text generation with Transformers.js does not have it; LlamaTextGenerationDeployment has';

/** Throws `InvalidSamplingParams`, which names the first parameter of a request that this runtime does not have. */
export function requireKnownSampling(request: SamplingParams | null | undefined, merged: Merged): void {
  const lacking: Readonly<Record<string, boolean>> = {
    structured_outputs: request?.structured_outputs != null,
    logprobs: merged.logprobs !== undefined,
    prompt_logprobs: merged.promptLogprobs !== undefined,
    typical_p: merged.typicalP !== 1,
    dry_multiplier: merged.dry !== undefined,
    xtc_probability: merged.xtc !== undefined,
    mirostat: merged.mirostat !== undefined,
    bad_words: (merged.badWords ?? []).length > 0,
  };
  for (const [name, isAsked] of Object.entries(lacking))
    if (isAsked) throw wrongArgument('InvalidSamplingParams', ['sampling_params', name], HINT);
}

/** Throws `ValidationError`, which names the first argument that this runtime does not have. */
export function requireKnownOptions({ response_format: format, overflow, ...rest }: Partial<ChatArgs>): void {
  if (format != null && format.type !== 'text') throw lacks('response_format');
  if (overflow != null && overflow !== 'error') throw lacks('overflow');
  if (rest.adapter != null) throw lacks('adapter');
  if (activeTools(rest).length > 0) throw lacks('tools');
}

const lacks = (name: string): AanaError => wrongArgument('ValidationError', [name], HINT);
