import type * as z from 'zod';
import type { ChatOutputWithDetails } from '../../../base/schemas/index.ts';
import { type MediaPart, MediaParts, type OpenMedia } from '../media/media-part.ts';
import { answerOf, withDetails } from '../model-call.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import type { Capability } from '../models/capabilities.ts';
import { type ResolvedModel, resolveModel } from '../models/model-names.ts';
import { type ModelRoute, type ModelWish, routed, routeOf, withModel } from '../models/model-route.ts';
import type { RunContext } from '../run-context.ts';
import type { GivenItems } from './item-messages.ts';
import type { Item } from './items.ts';
import { type ReadInput, readInput } from './read-input.ts';
import { type ModelResponse, newResponse } from './response-answer.ts';
import { fileSearchOf, type FileSearch, type ModelTurns, writeAnswer } from './file-search/answer-rounds.ts';
import { nextCall, responseCall } from './response-call.ts';
import type { InputTokensRequest, ResponseRequest } from './response-fields.ts';
import { readHistory } from './stored/response-chain.ts';
import type { UserResponses } from './stored/stored-responses.ts';
import type { SearchScope } from '../vector-stores/search-stores.ts';
import { ResponseWriter, wholeResponse } from './response-writer.ts';

/** What a request can read: the stored responses that it continues, vector stores, and its media. */
export interface Dialogs {
  readonly store: UserResponses;
  /** Most bytes of the responses that a request continues. */
  readonly maxBytes: number;
  readonly search: SearchScope;
  readonly openMedia: OpenMedia;
}

/** A request for a response as a call of a deployment. */
interface ResponseCall extends ModelTurns {
  /** The media in the arguments, which must be opened before the call. */
  readonly media: readonly MediaPart[];
}

/** A request for a response, checked for the model that is chosen for it. */
export interface ResponseRun {
  readonly route: ModelRoute;
  /** Returns the call of a model of the route. Throws errors that name the wrong parameter. */
  callOf(resolved: ResolvedModel): ResponseCall;
  /** The response before it has an output. */
  readonly begun: z.output<typeof ModelResponse>;
  readonly input: readonly Item[];
  readonly search: FileSearch | undefined;
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

/** Reads a request and checks it. Throws errors that name the wrong parameter. */
export async function responseRun(
  models: ModelDirectory,
  request: ResponseRequest,
  dialogs: Dialogs,
  context: RunContext,
): Promise<ResponseRun> {
  resolveModel(models, request.model, 'chat'); // a wrong name is told before a wrong dialog
  const search = await fileSearchOf(request, dialogs.search);
  const items = await readItems(request, dialogs);
  const route = routeOf(models, responseWish(request, items), context);
  const callOf = (resolved: ResolvedModel): ResponseCall => {
    const media = new MediaParts(resolved.model);
    return { ...turnsOf(request, items, resolved, media), media: media.parts };
  };
  const checked = callOf(route.chosen);
  return {
    route,
    callOf: (resolved) => (resolved === route.chosen ? checked : callOf(resolved)),
    begun: newResponse(request, dialogs.store.isStoring),
    input: items.input,
    search,
  };
}

function turnsOf(request: StoredRequest, items: GivenItems, resolved: ResolvedModel, media: MediaParts): ModelTurns {
  const call = responseCall(request, items, resolved, media);
  return {
    call,
    next: (written, outputTokens, canSearch) =>
      nextCall(call, request, items, resolved, { written, outputTokens, canSearch }),
  };
}

/** A request for a response whose input has been read and is stored. */
export type StoredRequest = Omit<ResponseRequest, 'input'>;

/**
 * Runs work with the turns of a model for a request whose input is stored, and with the searches that it asks for. Its
 * media are open meanwhile. Throws errors that name the wrong parameter.
 */
export async function withStoredRequest<T>(
  models: ModelDirectory,
  request: StoredRequest,
  input: readonly Item[],
  { store, maxBytes, search: scope, openMedia }: Dialogs,
  context: RunContext,
  work: (turns: ModelTurns, search: FileSearch | undefined, context: RunContext) => Promise<T>,
): Promise<T> {
  const { previous_response_id: previous } = request;
  const history = previous == null ? [] : await readHistory(store, previous, maxBytes);
  const items = { history, input };
  const search = await fileSearchOf(request, scope);
  return withModel(models, responseWish(request, items), context, async (resolved, tried) => {
    const media = new MediaParts(resolved.model);
    const turns = turnsOf(request, items, resolved, media);
    await using _opened = await openMedia(media.parts, tried);
    return await work(turns, search, tried);
  });
}

/** Returns what a request whose dialog has these items asks of a model. */
export function responseWish(
  { model }: Pick<ResponseRequest, 'model'>,
  { history, input }: GivenItems,
  capability: Capability = 'chat',
): ModelWish {
  const dialog = [...history, ...input].flatMap((item) =>
    item.type === 'message' ? [item] : 'output' in item ? [{ role: 'tool', content: item.output }] : [],
  );
  return { name: model, capability, dialog };
}

/** Answers a request as a whole, and stores the response if the request wants it. */
export async function answerResponse(
  models: ModelDirectory,
  request: ResponseRequest,
  dialogs: Dialogs,
  context: RunContext,
): Promise<z.output<typeof ModelResponse>> {
  const { route, callOf, begun, input, search } = await responseRun(models, request, dialogs, context);
  const response = await routed(route, context, async (resolved, tried) => {
    const { call, media, next } = callOf(resolved);
    await using _opened = await dialogs.openMedia(media, tried);
    if (!search)
      return wholeResponse(begun, (await answerOf(models, withDetails(call), 'chat', tried)) as ChatOutputWithDetails);
    const writer = new ResponseWriter(begun);
    writer.close(await writeAnswer(models, { call, next }, search, writer, tried, () => {}));
    return writer.response;
  });
  if (response.store) await dialogs.store.save(response, input);
  return response;
}
