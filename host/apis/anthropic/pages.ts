import * as z from 'zod';

/** A page of a list, as in Anthropic's API. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({
    data: z.array(item),
    has_more: z.boolean(),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  });

export interface PageQuery {
  readonly limit: number;
  readonly before_id?: string | undefined;
}

/**
 * Returns a page of the items between its cursors: the last ones with `before_id`, or else the first ones. One item
 * more than `limit` is enough.
 */
export function page<Item extends { readonly id: string }>(
  between: readonly Item[],
  { limit, before_id: before }: PageQuery,
) {
  const data = before === undefined ? between.slice(0, limit) : between.slice(-limit);
  return {
    data,
    has_more: data.length < between.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}
