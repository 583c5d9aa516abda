import type * as z from 'zod';
import type { ChatOutputWithDetails } from '../../../base/schemas/index.ts';
import { answerOf, type ModelCall, withDetails } from '../model-call.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import type { ResolvedModel } from '../models/model-names.ts';
import { type ModelWish, withModel } from '../models/model-route.ts';
import type { RunContext } from '../run-context.ts';
import { type AnswerHead, newHead } from '../text/values.ts';
import { type AnswerOptions, type ChatCompletion, chatCompletion } from './chat-answer.ts';
import { MediaParts, type MediaPart, type OpenMedia } from '../media/media-part.ts';
import { chatCall, prefixOf } from './chat-call.ts';
import type { ChatRequest } from './chat-fields.ts';
import { customNames } from './tools.ts';

/** A chat request as a call of a deployment. */
export interface ChatRun extends AnswerOptions {
  /** The call of `chat` and `chat_stream`. */
  readonly call: ModelCall;
  /** The media in the arguments, which must be opened before the call. */
  readonly media: readonly MediaPart[];
  readonly head: AnswerHead;
}

/** Returns what a request asks of a model. */
export function chatWish({ model, messages }: Pick<ChatRequest, 'model' | 'messages'>): ModelWish {
  return { name: model, capability: 'chat', dialog: messages };
}

/** Returns the call of a model for a request. Throws errors that name the wrong parameter. */
export function chatRun(resolved: ResolvedModel, request: ChatRequest): ChatRun {
  const media = new MediaParts(resolved.model);
  const call = chatCall(request, resolved, media);
  return {
    call,
    media: media.parts,
    prefix: prefixOf(call),
    customNames: customNames(request.tools),
    head: newHead('chatcmpl-', request.model),
  };
}

/** Answers a request as a whole. */
export async function answerChat(
  models: ModelDirectory,
  request: ChatRequest,
  context: RunContext,
  openMedia: OpenMedia,
): Promise<z.input<typeof ChatCompletion>> {
  return withModel(models, chatWish(request), context, async (resolved, tried) => {
    const { call, media, head, ...options } = chatRun(resolved, request);
    await using _opened = await openMedia(media, tried);
    const output = await answerOf(models, withDetails(call), 'chat', tried);
    return chatCompletion(head, output as ChatOutputWithDetails, options);
  });
}
