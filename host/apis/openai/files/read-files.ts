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
 * Puts the texts of files, and files that are images, into their places in a dialog. Throws errors that name the part
 * for a file that the user does not have or that is neither, if the API key does not allow to read files, and if the
 * files are too large.
 */
export async function readFiles(ctx: Context, parts: readonly FilePart[], options: OpenAiHttpOptions): Promise<void> {
  if (parts.length === 0) return;
  const { openai, limits } = options;
  const excess = parts[limits.max_files];
  if (excess) throw invalidValue(excess.part, `a request may have ${limits.max_files} files`);
  const caller = callerOf(ctx);
  const files = openai.files.as(caller);
  const { max_bytes: mostImages } = openai.imageInput;
  const room = { bytes: limits.max_json_bytes, text: limits.max_json_bytes, images: mostImages };
  const take = (kind: keyof typeof room, bytes: number): void => {
    room[kind] -= bytes;
    if (room[kind] >= 0) return;
    if (kind === 'images')
      throw tooLarge('the images in the request are too large', mostImages, 'openai.image_input.max_bytes');
    throw tooLarge('the files in the request are too large', limits.max_json_bytes, 'limits.max_json_bytes');
  };
  const open = async ({ param, file: given, kind }: FilePart, signal: AbortSignal): Promise<NamedBytes> => {
    if (!('id' in given)) return given;
    requireReadingFiles(caller.scopes, given.id);
    const file = requireFile(given.id, await files.find(given.id), param);
    const likely = kind === 'image' || (kind === undefined && room.images > room.bytes) ? 'images' : 'bytes';
    if (file.bytes > room[likely]) take(likely, file.bytes); // before it is in memory
    return { name: file.filename, bytes: await buffer(await files.open(file, signal)) };
  };
  await withinTime(ctx, options, async ({ signal }) => {
    for (const part of parts) {
      const file = await open(part, signal);
      const type = part.kind === 'text' ? undefined : openai.imageType(file.bytes);
      // A text may begin as an image does.
      if (type !== undefined && textOfBytes(file.bytes) === undefined) {
        take('images', file.bytes.length);
        part.put({ image: `data:${type};base64,${file.bytes.toString('base64')}` });
        continue;
      }
      if (part.kind === 'image') throw refusedFile(part.param, file, 'is no image that can be read');
      take('bytes', file.bytes.length);
      const text = await fileText(part, file, room.text, options, signal);
      take('text', Buffer.byteLength(text));
      part.put({ text });
    }
  });
}

const refusedFile = (param: string, { name }: NamedBytes, why: string): Error =>
  invalidValue(param, `the file ${JSON.stringify(name.slice(0, 100))} ${why}`);

/** Returns the text of a file. Throws `InvalidParameter`, which names `param`, for one without text. */
async function fileText(
  { param, kind }: FilePart,
  file: NamedBytes,
  maxBytes: number,
  options: OpenAiHttpOptions,
  signal: AbortSignal,
): Promise<string> {
  const { bytes } = file;
  const refused = (why: string): Error => refusedFile(param, file, why);
  if (isPdf(bytes)) {
    const reading = await withTemporaryFile(bytes, options, (path) => readPdf(path, maxBytes, signal));
    if ('text' in reading) return reading.text;
    throw refused(`is a PDF that ${reading.unreadable}`);
  }
  // The bytes decide, because names such as `index.ts` have types of media.
  const text = textOfBytes(bytes);
  const taken = kind === 'text' ? 'text, JSON and PDF' : 'text, JSON, PDF and images';
  if (text === undefined) throw refused(`is no text in UTF-8 or UTF-16; a dialog takes ${taken} here`);
  return text;
}

/** Throws `InsufficientScope` if a key with these scopes (null: all) may not read a stored file. */
export function requireReadingFiles(scopes: readonly string[] | null, id: string): void {
  if (allowsPath(scopes, `/v1/files/${id}/content`)) return;
  throw new AccessError('InsufficientScope', 'the API key does not allow to read files', {
    'www-authenticate': 'Bearer error="insufficient_scope"',
  });
}
