import type * as z from 'zod';
import { invalidValue } from '../../fields.ts';
import type { Item } from '../items.ts';
import type { ItemList } from '../response-answer.ts';

export interface ItemPageOptions {
  /** The id of the item before the page, in the order of the list. */
  readonly after?: string | undefined;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
}

/** Returns a page of items. Throws `InvalidParameter` if `after` is none of them. */
export function itemPage(items: readonly Item[], { after, limit, order }: ItemPageOptions): z.output<typeof ItemList> {
  const ordered = order === 'asc' ? items : items.toReversed();
  const before = after === undefined ? -1 : ordered.findIndex(({ id }) => id === after);
  if (after !== undefined && before < 0)
    throw invalidValue('after', `the list has no item ${JSON.stringify(after.slice(0, 100))}`);
  const data = ordered.slice(before + 1, before + 1 + limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: before + 1 + limit < ordered.length,
  };
}
