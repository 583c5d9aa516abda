import { buffer } from 'node:stream/consumers';
import type { Context } from 'koa';
import { AccessError, allowsPath } from '../../../data/access/index.ts';
import { isPdf, readPdf, textOfBytes } from '../../../io/documents/index.ts';
import type { FilePart, NamedBytes } from './file-input.ts';
import { invalidValue } from '../fields.ts';
import { requireFile } from './file-object.ts';
import { callerOf } from '../../http/guards/caller.ts';
import { withTemporaryFile } from '../../http/request/form/temporary-file.ts';
import { tooLarge } from '../../http/request/too-large.ts';
import { type OpenAiHttpOptions, withinTime } from '../http/openai-request.ts';

/**
 * Writes the texts of files to their places in a dialog. Throws errors that name the part for a file that the user does
 * not have or that has no text, if the API key does not allow to read files, and if there is too much text.
 */
export async function readFiles(ctx: Context, parts: readonly FilePart[], options: OpenAiHttpOptions): Promise<void> {
  if (parts.length === 0) return;
  const { openai, limits } = options;
  const excess = parts[limits.max_files];
  if (excess) throw invalidValue(excess.part, `a request may have ${limits.max_files} files`);
  const caller = callerOf(ctx);
  const files = openai.files.as(caller);
  const room = { bytes: limits.max_json_bytes, text: limits.max_json_bytes };
  const take = (kind: keyof typeof room, bytes: number): void => {
    room[kind] -= bytes;
    if (room[kind] < 0)
      throw tooLarge('the files in the request are too large', limits.max_json_bytes, 'limits.max_json_bytes');
  };
  const open = async ({ param, file: given }: FilePart): Promise<NamedBytes> => {
    if (!('id' in given)) {
      take('bytes', given.bytes.length);
      return given;
    }
    requireReadingFiles(caller.scopes, given.id);
    const file = requireFile(given.id, await files.find(given.id), param);
    take('bytes', file.bytes);
    return { name: file.filename, bytes: await buffer(await files.open(file)) };
  };
  await withinTime(ctx, options, async ({ signal }) => {
    for (const part of parts) {
      const file = await open(part);
      part.target.text = await fileText(part.param, file, room.text, options, signal);
      take('text', Buffer.byteLength(part.target.text));
    }
  });
}

/** Returns the text of a file. Throws `InvalidParameter`, which names `param`, for one without text. */
async function fileText(
  param: string,
  { name, bytes }: NamedBytes,
  maxBytes: number,
  options: OpenAiHttpOptions,
  signal: AbortSignal,
): Promise<string> {
  const refused = (why: string): Error => invalidValue(param, `the file ${JSON.stringify(name.slice(0, 100))} ${why}`);
  if (isPdf(bytes)) {
    const reading = await withTemporaryFile(bytes, options, (path) => readPdf(path, maxBytes, signal));
    if ('text' in reading) return reading.text;
    throw refused(`is a PDF that ${reading.unreadable}`);
  }
  // The bytes decide, because names such as `index.ts` have types of media.
  const text = textOfBytes(bytes);
  if (text === undefined) throw refused('is no text in UTF-8 or UTF-16; the model reads text, JSON and PDF');
  return text;
}

/** Throws `InsufficientScope` if a key with these scopes (null: all) may not read a stored file. */
export function requireReadingFiles(scopes: readonly string[] | null, id: string): void {
  if (allowsPath(scopes, `/v1/files/${id}/content`)) return;
  throw new AccessError('InsufficientScope', 'the API key does not allow to read files', {
    'www-authenticate': 'Bearer error="insufficient_scope"',
  });
}
