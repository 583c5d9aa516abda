import {
  answerOf,
  batchOperation,
  chatCall,
  type FilePart,
  type MediaPart,
  MediaParts,
  type ModelCall,
  type ModelRoute,
  newHead,
  type OpenMedia,
  prefixOf,
  type ResolvedModel,
  routed,
  routeOf,
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
interface MessageCall {
  /** The call of `chat`. */
  readonly call: ModelCall;
  /** The call of `chat_stream`, which tells the tokens of the prompt if the deployment can. */
  readonly streamCall: ModelCall;
  /** The media in the arguments, which must be opened before the call. */
  readonly media: readonly MediaPart[];
}

/** A request, checked for the model that is chosen for it. */
export interface MessageRun {
  readonly route: ModelRoute;
  /** Returns the call of a model of the route. Throws errors that name the wrong parameter. */
  callOf(resolved: ResolvedModel): MessageCall;
  readonly answer: MessageOptions;
}

/** Puts files into their places in a dialog. */
type ReadFiles = (files: readonly FilePart[]) => Promise<void>;

/** Reads a request and checks it. Throws errors that name the wrong parameter. */
export async function messageRun(
  models: ModelDirectory,
  request: MessagesRequest,
  context: RunContext,
  readFiles: ReadFiles,
): Promise<MessageRun> {
  const { request: chat, files } = chatRequest(request);
  const route = routeOf(models, { name: request.model, capability: 'chat', dialog: chat.messages }, context);
  await readFiles(files);
  const callOf = (resolved: ResolvedModel): MessageCall => {
    const media = new MediaParts(resolved.model);
    const call = chatCall(chat, resolved, media);
    return {
      call: withDetails(call),
      streamCall: resolved.model.methods.has('count_tokens') ? withPromptTokens(call) : call,
      media: media.parts,
    };
  };
  const checked = callOf(route.chosen);
  const prefix = prefixOf(checked.call);
  return {
    route,
    callOf: (resolved) => (resolved === route.chosen ? checked : callOf(resolved)),
    answer: { head: newHead('msg_', request.model), prefix, maxTokens: request.max_tokens },
  };
}

/** Answers a request as a whole. */
export async function answerMessage(
  models: ModelDirectory,
  { route, callOf, answer }: MessageRun,
  context: RunContext,
  openMedia: OpenMedia,
): Promise<Message> {
  return routed(route, context, async (resolved, tried) => {
    const { call, media } = callOf(resolved);
    await using _opened = await openMedia(media, tried);
    return messageOf((await answerOf(models, call, 'chat', tried)) as ChatOutputWithDetails, answer);
  });
}

/** Refuses files, for requests that nobody waits for. */
const refuseFiles: ReadFiles = async ([first]) => {
  if (first) throw unsupported(first.param, 'files are read only for requests that wait for their answer');
};

/** The requests of batches. */
export const MESSAGE_OPERATION = batchOperation(
  'chat',
  MESSAGES_FIELDS,
  async (request, { models, openMedia }, context) =>
    answerMessage(models, await messageRun(models, request, context, refuseFiles), context, openMedia),
);
