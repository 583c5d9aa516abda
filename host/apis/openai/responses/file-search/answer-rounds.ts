import { drained } from '../../../../base/core/async/async-values.ts';
import type { GenerationDetails } from '../../../../base/schemas/index.ts';
import type { VectorStoreRecord } from '../../../../data/storage/index.ts';
import { embeddingModel } from '../../vector-stores/embedding-model.ts';
import { type ModelCall, piecesOf } from '../../model-call.ts';
import type { ModelDirectory } from '../../../../inference/deployments/index.ts';
import type { RunContext } from '../../run-context.ts';
import { storeQueryOf } from '../../vector-stores/search-fields.ts';
import {
  requireSearching,
  requireUnexpired,
  type SearchScope,
  searchStores,
  type StoreQuery,
} from '../../vector-stores/search-stores.ts';
import { requireStore } from '../../vector-stores/store-object.ts';
import type { Item } from '../items.ts';
import type { ResponseEvent } from '../response-event.ts';
import { INCLUDE_RESULTS, type ResponseRequest } from '../response-fields.ts';
import { isIncomplete, type ResponseWriter } from '../response-writer.ts';
import { WrittenCall } from '../written-call.ts';
import { MAX_SEARCHES, searchToolIn } from './search-tool.ts';
import { WrittenSearch } from './written-search.ts';

/** The searches of files that a request lets the model make. */
export interface FileSearch {
  readonly scope: SearchScope;
  readonly stores: readonly VectorStoreRecord[];
  readonly query: Omit<StoreQuery, 'queries'>;
  /** Whether clients see the results. */
  readonly isShown: boolean;
  /** Most searches. */
  readonly limit: number;
}

/**
 * Returns the searches that the tools of a request ask for; undefined without the tool. Throws errors that name the
 * tool or the store, and `InsufficientScope`.
 */
export async function fileSearchOf(
  { tools, include, max_tool_calls: limit }: Pick<ResponseRequest, 'tools' | 'include' | 'max_tool_calls'>,
  scope: SearchScope,
): Promise<FileSearch | undefined> {
  const given = searchToolIn(tools ?? []);
  if (!given) return undefined;
  const { tool, index } = given;
  const path = `tools[${index}]`;
  requireSearching(scope, tool.vector_store_ids);
  const query = storeQueryOf(tool, `${path}.`);
  embeddingModel(scope, scope.deployments); // a missing deployment is told before the model writes
  const stores = new Map<string, VectorStoreRecord>();
  for (const [n, id] of tool.vector_store_ids.entries()) {
    const store = requireStore(id, await scope.stores.find(id), `${path}.vector_store_ids[${n}]`);
    requireUnexpired(store);
    stores.set(id, store);
  }
  return {
    scope,
    stores: [...stores.values()],
    query,
    isShown: include?.includes(INCLUDE_RESULTS) === true,
    limit: Math.min(limit ?? MAX_SEARCHES, MAX_SEARCHES),
  };
}

/** The model's part of an answer. */
export interface ModelTurns {
  /** The call of `chat_stream`. Its media are open. */
  readonly call: ModelCall;
  /** Returns the call that goes on behind these items. `canSearch` says whether the model sees the tool. */
  next(written: readonly Item[], outputTokens: number, canSearch: boolean): ModelCall;
}

/**
 * Writes an answer. After each turn in which the model searches files, the server answers it and the model has another
 * turn, unless the turn also calls tools of the client, which answers those first. Returns the details of a turn that
 * is still open.
 */
export async function writeAnswer(
  models: ModelDirectory,
  { call: first, next }: ModelTurns,
  search: FileSearch | undefined,
  writer: ResponseWriter,
  context: RunContext,
  send: (events: readonly ResponseEvent[]) => void | Promise<void>,
): Promise<GenerationDetails | undefined> {
  // The first turn has told the parts of the request that have no effect.
  const later = Object.assign({}, context, { ignore: undefined });
  let call = first;
  let left = search?.limit ?? 0;
  for (;;) {
    const isFirst = call === first;
    const canSearch = left > 0;
    const values = piecesOf(models, call, 'chat_stream', isFirst ? context : later);
    const details = await drained(values, (batch) => send(batch.flatMap((chunk) => writer.of(chunk))));
    if (!search || isIncomplete(details) || !writer.isWaiting) return details;
    const { events, items } = writer.endTurn(details);
    await send(events);
    const isCalled = items.some((item) => item instanceof WrittenCall);
    for (const item of items.filter((one) => one instanceof WrittenSearch)) {
      const { queries } = item;
      const isMade = left > 0 && queries.length > 0;
      left -= 1;
      if (!isMade) {
        await send(writer.tell(item.fail()));
        continue;
      }
      await send(writer.tell(item.search()));
      const found = await searchStores(search.scope, search.stores, { ...search.query, queries }, context);
      await send(writer.tell(item.find(found, search.isShown || isCalled)));
      writer.cite(found);
    }
    if (isCalled || !canSearch) return undefined;
    call = next(writer.told, writer.outputTokens, left > 0);
  }
}
