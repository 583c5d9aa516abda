/** The records of the interface `llm`, as the glue gives and takes them. */
export interface WitMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

export interface WitSamplingParams {
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly minP?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly repetitionPenalty?: number | undefined;
  readonly seed?: number | undefined;
  readonly stop: readonly string[];
}

export interface WitChatOptions {
  readonly samplingParams: WitSamplingParams;
  readonly assistantPrefix?: string | undefined;
}

export interface WitTokenCount {
  readonly tokens: number;
  readonly maxTokens: number;
}

/** The arguments of the deployment's `chat` and `chat_stream`, beside the dialog. */
export function chatOptions({ samplingParams: params, assistantPrefix }: WitChatOptions): Record<string, unknown> {
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

export function dialogOf(messages: readonly WitMessage[]): { messages: readonly WitMessage[] } {
  return { messages: messages.map(({ role, content }) => ({ role, content })) };
}
