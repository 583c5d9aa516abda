import type * as z from 'zod';
import type { ChatOutputWithDetails } from '../../../base/schemas/index.ts';
import { type ImagePart, ImageParts, type OpenImages } from '../images/image-part.ts';
import { answerOf, type ModelCall, withDetails } from '../model-call.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import { resolveModel } from '../models/model-names.ts';
import type { RunContext } from '../run-context.ts';
import type { Item } from './items.ts';
import { type ReadInput, readInput } from './read-input.ts';
import { type ModelResponse, newResponse } from './response-answer.ts';
import { responseCall } from './response-call.ts';
import type { InputTokensRequest, ResponseRequest } from './response-fields.ts';
import { readHistory } from './stored/response-chain.ts';
import type { UserResponses } from './stored/stored-responses.ts';
import { wholeResponse } from './response-writer.ts';

/** The stored responses that a request can continue. */
export interface Dialogs {
  readonly store: UserResponses;
  /** Most bytes of the responses that a request continues. */
  readonly maxBytes: number;
}

/** A request for a response as a call of a deployment. */
export interface ResponseRun {
  /** The call of `chat` and `chat_stream`. */
  readonly call: ModelCall;
  /** The images in the arguments, which must be opened before the call. */
  readonly images: readonly ImagePart[];
  /** The response before it has an output. */
  readonly begun: z.output<typeof ModelResponse>;
  readonly input: readonly Item[];
}

/** Returns the items that a request gives, and those of the responses that it continues. */
export async function readItems(
  { input, previous_response_id: previous }: Pick<InputTokensRequest, 'input' | 'previous_response_id'>,
  { store, maxBytes }: Dialogs,
): Promise<ReadInput & { readonly history: readonly Item[] }> {
  return {
    history: previous == null ? [] : await readHistory(store, previous, maxBytes),
    ...(await readInput(input, (id) => store.findItem(id))),
  };
}

/** Returns the call for a request. Throws errors that name the wrong parameter. */
export async function responseRun(
  models: ModelDirectory,
  request: ResponseRequest,
  dialogs: Dialogs,
): Promise<ResponseRun> {
  const resolved = resolveModel(models, request.model, 'chat');
  const items = await readItems(request, dialogs);
  const images = new ImageParts(
    resolved.model,
    request.background === true ? 'a response that is made in the background takes no images' : undefined,
  );
  const call = responseCall(request, items, resolved, images);
  const begun = newResponse(request, dialogs.store.isStoring);
  return { call, images: images.parts, begun, input: items.input };
}

/** A request for a response whose input has been read and is stored. */
export type StoredRequest = Omit<ResponseRequest, 'input'>;

/** Returns the call for a request whose input is stored. Throws errors that name the wrong parameter. */
export async function storedRun(
  models: ModelDirectory,
  request: StoredRequest,
  input: readonly Item[],
  { store, maxBytes }: Dialogs,
): Promise<ModelCall> {
  const resolved = resolveModel(models, request.model, 'chat');
  const { previous_response_id: previous } = request;
  const history = previous == null ? [] : await readHistory(store, previous, maxBytes);
  return responseCall(request, { history, input }, resolved);
}

/** Answers a request as a whole, and stores the response if the request wants it. */
export async function answerResponse(
  models: ModelDirectory,
  request: ResponseRequest,
  dialogs: Dialogs,
  context: RunContext,
  openImages: OpenImages,
): Promise<z.output<typeof ModelResponse>> {
  const { call, images, begun, input } = await responseRun(models, request, dialogs);
  await using _opened = await openImages(images, context);
  const output = await answerOf(models, withDetails(call), 'chat', context);
  const response = wholeResponse(begun, output as ChatOutputWithDetails);
  if (response.store) await dialogs.store.save(response, input);
  return response;
}
