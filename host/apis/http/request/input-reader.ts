import type { Context } from 'koa';
import type * as z from 'zod';
import { parseInput } from '../../../endpoints/registry/index.ts';
import type { HttpAppOptions } from '../options.ts';
import { readBody } from './request-body.ts';

/** Returns a function that reads the body of a request without files, and checks it against a schema. */
export function inputReader({ limits, tempDir }: Pick<HttpAppOptions, 'limits' | 'tempDir'>) {
  return async <T extends z.ZodType>(ctx: Context, schema: T): Promise<z.output<T>> => {
    await using body = await readBody(ctx, { ...limits, max_files: 0 }, tempDir);
    return parseInput(schema, body.input);
  };
}
