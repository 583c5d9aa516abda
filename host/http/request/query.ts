import type { Context } from 'koa';
import type * as z from 'zod';
import type { AanaError } from '../../core/errors.ts';
import { validationError } from '../../endpoints/index.ts';

/** A number of the query, checked; undefined when it is not given. */
export function numberOf(ctx: Context, name: string, schema: z.ZodNumber): number | undefined {
  const text = queryValue(ctx, name);
  if (text === undefined) return undefined;
  const parsed = schema.safeParse(text.trim() === '' ? Number.NaN : Number(text));
  if (!parsed.success) throw badQuery(name, 'number_parsing', parsed.error.issues[0]?.message ?? 'Invalid input', text);
  return parsed.data;
}

/** The last one, where a name is given more than once. */
export function queryValue(ctx: Context, name: string): string | undefined {
  if (ctx.querystring === '') return undefined; // as it is of most requests
  return [ctx.query[name]].flat().at(-1);
}

/** A 422 that names the parameter. */
export function badQuery(name: string, type: string, msg: string, input: string): AanaError {
  return validationError([{ type, loc: ['query', name], msg, input }]);
}
