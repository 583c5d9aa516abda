import * as z from 'zod';
import { invalidValue } from './fields.ts';

/** Returns the parameter `order` of a list of such items. */
export const orderOf = (item: string) =>
  z
    .enum(['asc', 'desc'], 'Input should be one of asc, desc')
    .optional()
    .describe(`Default: desc, the newest ${item} first.`);

/** Returns the parameter `after` of a list of such items. */
export const afterId = (item: string) =>
  z.string().max(256).optional().describe(`The id of the last ${item} of the page before.`);

/** A page of a list, as in OpenAI's API. */
export const listOf = <Item extends z.ZodType>(item: Item) =>
  z.object({
    object: z.literal('list'),
    data: z.array(item),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  });

/**
 * Returns the page of a list that was read with one item more than `limit`, so that it is known whether more follow.
 */
export function listPage<Item extends { readonly id: string }>(read: readonly Item[], limit: number) {
  const data = read.slice(0, limit);
  return {
    object: 'list' as const,
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: read.length > limit,
  };
}

/** Returns whether a text is the prefix with 32 hexadecimal digits. */
export function isIdWith(prefix: string, text: string): boolean {
  return text.startsWith(prefix) && /^[0-9a-f]{32}$/.test(text.slice(prefix.length));
}

/** Throws `InvalidParameter` if the cursor of a list is not an id with this prefix. The item itself may be gone. */
export function checkCursor(cursor: string | undefined, prefix: string, param = 'after'): void {
  if (cursor === undefined || isIdWith(prefix, cursor)) return;
  throw invalidValue(param, `${JSON.stringify(cursor.slice(0, 100))} is not the id of an item of the list`);
}
