import type * as z from 'zod';
import type { ChatOutputWithDetails } from '../../../base/schemas/index.ts';
import { answerOf, type ModelCall, withDetails } from '../model-call.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import { resolveModel } from '../models/model-names.ts';
import type { RunContext } from '../run-context.ts';
import { type AnswerHead, newHead } from '../text/values.ts';
import { type AnswerOptions, type ChatCompletion, chatCompletion } from './chat-answer.ts';
import { ImageParts, type ImagePart, type OpenImages } from '../images/image-part.ts';
import { chatCall, prefixOf } from './chat-call.ts';
import type { ChatRequest } from './chat-fields.ts';
import { customNames } from './tools.ts';

/** A chat request as a call of a deployment. */
export interface ChatRun extends AnswerOptions {
  /** The call of `chat` and `chat_stream`. */
  readonly call: ModelCall;
  /** The images in the arguments, which must be opened before the call. */
  readonly images: readonly ImagePart[];
  readonly head: AnswerHead;
}

/** Returns the call for a request. Throws errors that name the wrong parameter. */
export function chatRun(models: ModelDirectory, request: ChatRequest): ChatRun {
  const resolved = resolveModel(models, request.model, 'chat');
  const images = new ImageParts(resolved.model);
  const call = chatCall(request, resolved, images);
  return {
    call,
    images: images.parts,
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
  openImages: OpenImages,
): Promise<z.input<typeof ChatCompletion>> {
  const { call, images, head, ...options } = chatRun(models, request);
  await using _opened = await openImages(images, context);
  const output = await answerOf(models, withDetails(call), 'chat', context);
  return chatCompletion(head, output as ChatOutputWithDetails, options);
}
