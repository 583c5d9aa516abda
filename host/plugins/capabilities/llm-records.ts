import type { Message, Options } from '../../../wit/generated/world/llm.ts';

/** Returns the arguments for the deployment's `chat` and `chat_stream`, without the dialog. */
export function chatOptions({ samplingParams: params, assistantPrefix }: Options): Record<string, unknown> {
  const sampling = Object.entries({
    temperature: params.temperature,
    top_p: params.topP,
    top_k: params.topK,
    min_p: params.minP,
    max_tokens: params.maxTokens,
    repetition_penalty: params.repetitionPenalty,
    seed: params.seed,
    stop: params.stop.length > 0 ? params.stop : undefined,
  }).filter(([, value]) => value !== undefined);
  return {
    ...(sampling.length > 0 && { sampling_params: Object.fromEntries(sampling) }),
    ...(assistantPrefix !== undefined && { assistant_prefix: assistantPrefix }),
  };
}

export function dialogOf(messages: readonly Message[]): { messages: readonly Message[] } {
  return { messages: messages.map(({ role, content }) => ({ role, content })) };
}
