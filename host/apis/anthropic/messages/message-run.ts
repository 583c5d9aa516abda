import {
  answerOf,
  batchOperation,
  chatCall,
  type FilePart,
  type ImagePart,
  ImageParts,
  type ModelCall,
  newHead,
  type OpenImages,
  prefixOf,
  refuseImages,
  resolveModel,
  type RunContext,
  unsupported,
  withDetails,
  withPromptTokens,
} from '../../openai/index.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import type { ChatOutputWithDetails } from '../../../base/schemas/index.ts';
import { chatRequest } from './chat-request.ts';
import { MESSAGES_FIELDS, type MessagesRequest } from './message-fields.ts';
import { type Message, type MessageOptions, messageOf } from './message.ts';

/** A request as a call of a deployment. */
export interface MessageRun {
  /** The call of `chat`. */
  readonly call: ModelCall;
  /** The call of `chat_stream`, which tells the tokens of the prompt if the deployment can. */
  readonly streamCall: ModelCall;
  /** The images in the arguments, which must be opened before the call. */
  readonly images: readonly ImagePart[];
  readonly answer: MessageOptions;
}

/** Writes the texts of files to their places in a dialog. */
type ReadFiles = (files: readonly FilePart[]) => Promise<void>;

/** Returns the call for a request. Throws errors that name the wrong parameter. */
export async function messageRun(
  models: ModelDirectory,
  request: MessagesRequest,
  readFiles: ReadFiles,
): Promise<MessageRun> {
  const resolved = resolveModel(models, request.model, 'chat');
  const images = new ImageParts(resolved.model);
  const { request: chat, files } = chatRequest(request);
  await readFiles(files);
  const call = chatCall(chat, resolved, images);
  return {
    call: withDetails(call),
    streamCall: resolved.model.methods.has('count_tokens') ? withPromptTokens(call) : call,
    images: images.parts,
    answer: { head: newHead('msg_', request.model), prefix: prefixOf(call), maxTokens: request.max_tokens },
  };
}

/** Answers a request as a whole. */
export async function answerMessage(
  models: ModelDirectory,
  { call, images, answer }: MessageRun,
  context: RunContext,
  openImages: OpenImages,
): Promise<Message> {
  await using _opened = await openImages(images, context);
  return messageOf((await answerOf(models, call, 'chat', context)) as ChatOutputWithDetails, answer);
}

/** Refuses files, for requests that nobody waits for. */
const refuseFiles: ReadFiles = async ([first]) => {
  if (first) throw unsupported(first.param, 'files are read only for requests that wait for their answer');
};

/** The requests of batches. */
export const MESSAGE_OPERATION = batchOperation('chat', MESSAGES_FIELDS, async (request, { models }, context) =>
  answerMessage(models, await messageRun(models, request, refuseFiles), context, refuseImages),
);
