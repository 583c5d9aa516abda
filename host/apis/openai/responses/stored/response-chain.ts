import { fail } from '../../../../base/core/errors.ts';
import { invalidValue } from '../../fields.ts';
import type { Item } from '../items.ts';
import type { UserResponses } from './stored-responses.ts';

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
export async function readHistory(store: UserResponses, id: string, maxBytes: number): Promise<readonly Item[]> {
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
