import { fail } from '../../../../base/core/errors.ts';
import { invalidValue } from '../../fields.ts';
import type { Item } from '../items.ts';
import type { ModelResponse } from '../response-answer.ts';

/** A response in a chain of responses, each of which continues the next one. */
export interface ChainLink {
  readonly id: string;
  readonly previousId: string | null;
  /** Bytes of the response and its input as JSON. */
  readonly bytes: number;
  /** The status of a response that is or was made in the background. */
  readonly status: ModelResponse['status'] | null;
}

/** The stored responses of a user. */
export interface ResponseStore {
  /** Whether the operator lets responses be stored. */
  readonly isStoring: boolean;
  /** Stores a response with the items that it was given. Throws `StorageFull` for one that is too large. */
  save(response: ModelResponse, input: readonly Item[]): Promise<void>;
  find(id: string): Promise<ModelResponse | undefined>;
  /** Returns the items that a response was given, in order; undefined if there is no such response. */
  findInput(id: string): Promise<readonly Item[] | undefined>;
  /** Returns the newest item with this id, of any response. */
  findItem(id: string): Promise<Item | undefined>;
  /** Returns a response and those that it continues, the newest first. The last ones may have been removed. */
  chain(id: string): Promise<readonly ChainLink[]>;
  /** Returns the items of a response and of those that it continues, the oldest first. */
  chainItems(id: string): Promise<readonly Item[]>;
  /** Removes a response, and ends its task if it has not ended. Returns whether it existed. */
  delete(id: string): Promise<boolean>;
}

const ID = /^resp_[0-9a-f]{32}$/;

/** Returns what the store has for the id of a response. Throws `ResponseNotFound` if it has nothing. */
export async function requireResponse<T>(id: string, find: (id: string) => Promise<T>): Promise<NonNullable<T>> {
  const found = ID.test(id) ? await find(id) : undefined;
  if (found) return found;
  throw fail('ResponseNotFound', `Response with id ${shown(id)} not found.`, {
    data: { param: 'response_id' },
  });
}

/**
 * Returns the items of a response and of those that it continues, for a request that continues it. Throws
 * `PreviousResponseNotFound` when one of them is not stored, `InvalidParameter` for a response without an answer, and
 * `RequestTooLarge` when they have more than `maxBytes`.
 */
export async function readHistory(store: ResponseStore, id: string, maxBytes: number): Promise<readonly Item[]> {
  const chain = ID.test(id) ? await store.chain(id) : [];
  const missing = chain.length === 0 ? id : chain.at(-1)?.previousId;
  if (missing != null)
    throw fail('PreviousResponseNotFound', `Previous response with id ${shown(missing)} not found.`, {
      data: { param: 'previous_response_id' },
    });
  const status = chain[0]?.status ?? 'completed';
  if (status !== 'completed' && status !== 'incomplete')
    throw invalidValue('previous_response_id', `the response ${id} is ${status}, so there is no answer to continue`);
  const bytes = chain.reduce((sum, link) => sum + link.bytes, 0);
  if (bytes > maxBytes)
    throw fail(
      'RequestTooLarge',
      `the response ${id} and those that it continues have ${bytes} bytes, but at most ${maxBytes} are read ` +
        `(limits.max_json_bytes)`,
      { data: { limit: maxBytes, param: 'previous_response_id' } },
    );
  return store.chainItems(id);
}

const shown = (id: string): string => JSON.stringify(id.slice(0, 100));
