import { simpleSamplingParams } from './completion/completion-request.ts';
import { given } from './scope/json-members.ts';
import type { Message, Options } from '../../../../wit/generated/world/llm.ts';

/** Returns the arguments for the deployment's `chat` and `chat_stream`, without the dialog. */
export function chatOptions({ samplingParams: params, assistantPrefix }: Options): Record<string, unknown> {
  const sampling = given(simpleSamplingParams(params));
  return {
    ...(Object.keys(sampling).length > 0 && { sampling_params: sampling }),
    ...(assistantPrefix !== undefined && { assistant_prefix: assistantPrefix }),
  };
}

export function dialogOf(messages: readonly Message[]): { messages: readonly Message[] } {
  return { messages: messages.map(({ role, content }) => ({ role, content })) };
}
