import type { Context } from 'koa';
import * as z from 'zod';
import { anyObject, MAX_NAME } from '../../../../base/schemas/index.ts';
import { parseInput } from '../../../../endpoints/registry/index.ts';
import { HttpError } from '../../response/error-body.ts';
import type { HttpAppOptions } from '../../options.ts';
import { readBody } from '../../request/request-body.ts';

/** What this host reads of a message. The SDK checks all of it. */
const Head = z.looseObject({
  method: z.string().max(MAX_NAME).optional(),
  id: z
    .union([z.string().max(MAX_NAME), z.number()])
    .optional()
    .catch(undefined),
  params: z.optional(anyObject).catch(undefined),
});

export interface Message {
  readonly head: z.output<typeof Head>;
  /** The whole message, as it came. */
  readonly body: unknown;
}

/**
 * Reads the message of a request. A list of messages is refused, because each run of an endpoint counts as a request.
 */
export async function readMessage(ctx: Context, { limits, tempDir }: HttpAppOptions): Promise<Message> {
  if (!ctx.is('application/json'))
    throw new HttpError('UnsupportedMediaType', 'the content type of a message is application/json');
  await using body = await readBody(ctx, { ...limits, max_files: 0 }, tempDir);
  return { head: parseInput(Head, body.input), body: body.input };
}
