import { buffer } from 'node:stream/consumers';
import type { Context } from 'koa';
import { AccessError, allowsPath } from '../../../../access/index.ts';
import { type FilePart, fileText, invalidValue, requireFile } from '../../../../openai/index.ts';
import { callerOf } from '../../../guards/caller.ts';
import { traceparentOf } from '../../../request/request-context.ts';
import { tooLarge } from '../../../request/too-large.ts';
import type { OpenAiHttpOptions } from '../openai-request.ts';

/**
 * Writes the texts of stored files to their places in a dialog. Throws errors that name the part for a file that the
 * user does not have or that is no text, if the API key does not allow to read files, and if there is too much text.
 */
export async function readFiles(
  ctx: Context,
  parts: readonly FilePart[],
  { openai, limits }: OpenAiHttpOptions,
): Promise<void> {
  const excess = parts[limits.max_files];
  if (excess) throw invalidValue(excess.part, `a request may have ${limits.max_files} files`);
  const { userId, scopes } = callerOf(ctx);
  const files = openai.filesOf(userId, traceparentOf(ctx));
  let room = limits.max_json_bytes;
  for (const part of parts) {
    if (!allowsPath(scopes, `/v1/files/${part.id}/content`))
      throw new AccessError('InsufficientScope', 'denied', 'the API key does not allow to read files', {
        'www-authenticate': 'Bearer error="insufficient_scope"',
      });
    const file = requireFile(part.id, await files.find(part.id), part.param);
    room -= file.bytes;
    if (room < 0)
      throw tooLarge('the files in the request are too large', limits.max_json_bytes, 'limits.max_json_bytes');
    part.place.text = fileText(part.param, file.filename, await buffer(await files.open(file)));
  }
}
