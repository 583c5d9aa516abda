import { rm } from 'node:fs/promises';
import type { Context } from 'koa';
import { koaBody } from 'koa-body';
import { AanaError } from '../../../../base/core/errors.ts';
import { type UploadedFile, validationError } from '../../../../endpoints/registry/index.ts';
import { letBodyCome } from '../../server/continue.ts';
import { tooLarge } from '../too-large.ts';
import { goneError } from '../request-context.ts';
import { requireRoom } from './disk-room.ts';
import { fromFormidable } from './form-failures.ts';
import { limitFraming } from './framing.ts';
import { classify, multipartWithLimits, type PartHead } from './part-heads.ts';
import { type FormidableFile, makeUploadDir, uploadedFiles, type UploadFolders } from './uploads.ts';

export interface FormLimits {
  readonly max_body_bytes: number;
  readonly max_file_bytes: number;
  readonly max_files: number;
  /** Most bytes of all text parts together. */
  readonly max_json_bytes: number;
}

export interface FormOptions {
  readonly limits: FormLimits;
  readonly folders: UploadFolders;
  /** Whether a part is text, whatever its content type says. Parts with a content type are files otherwise. */
  readonly isText: (part: PartHead) => boolean;
  /** Most parts. More are refused while the form is read. */
  readonly maxParts: number;
}

/** A multipart form. Its files are deleted when it is disposed. */
export interface MultipartForm extends AsyncDisposable {
  /** The text parts in their order. */
  readonly fields: readonly FormField[];
  /** The files by the names of their parts. */
  readonly files: ReadonlyMap<string, UploadedFile>;
}

/** A text part, with the bytes that the client sent. */
export interface FormField {
  readonly name: string;
  readonly value: Buffer;
}

/** Space for the boundaries and headers of parts. */
const FRAMING_BYTES = 64 * 1024;

/** Lets the client send its form. Throws `RequestTooLarge` if the form says that it is larger than the limits. */
export function letFormCome(ctx: Context, limits: FormLimits): void {
  const total = limits.max_body_bytes + limits.max_json_bytes + FRAMING_BYTES;
  if (Number(ctx.get('content-length')) > total)
    throw tooLarge('the request is too large', limits.max_body_bytes, 'limits.max_body_bytes');
  letBodyCome(ctx);
}

/**
 * Reads a form and streams its files to a folder of their own. They are deleted when the form is disposed, or when
 * reading fails. Throws `ValidationError` for a part without a usable name and for two files of the same name.
 */
export async function readForm(
  ctx: Context,
  { limits, folders, isText, maxParts }: FormOptions,
): Promise<MultipartForm> {
  const gone = whenGone(ctx);
  gone.catch(() => {}); // the race below handles it
  const [tempDir, uploadDir] = await makeUploadDir(folders).catch((error: unknown) => {
    throw fromFormidable(error, limits);
  });
  using framing = limitFraming(ctx.request.req, limits.max_json_bytes);
  const dispose = (): Promise<void> => rm(uploadDir, { recursive: true, force: true, maxRetries: 3, retryDelay: 20 });
  try {
    await requireRoom(uploadDir, Number(ctx.get('content-length')) || 0);
    const parts: { readonly name: string; readonly isFile: boolean; readonly chunks: Buffer[] }[] = [];
    const parse = koaBody({
      multipart: true,
      json: false,
      text: false,
      urlencoded: false,
      formidable: {
        uploadDir,
        maxFiles: limits.max_files,
        maxFileSize: limits.max_file_bytes,
        maxTotalFileSize: limits.max_body_bytes,
        maxFields: maxParts,
        maxFieldsSize: limits.max_json_bytes,
        allowEmptyFiles: true,
        enabledPlugins: [multipartWithLimits(maxParts, uploadDir)],
        minFileSize: 0,
        hashAlgorithm: 'sha256', // computed while the file streams to the disk, so that it is not read again
        onPart: (part, handle) => {
          const head = part as unknown as PartHead;
          classify(head, isText);
          const isFile = Boolean(head.mimetype);
          const chunks: Buffer[] = [];
          parts.push({ name: head.name ?? '', isFile, chunks });
          part.on('data', (data: Buffer) => framing.account(data.length));
          // The text from formidable has lost bytes that are not UTF-8.
          if (!isFile) part.on('data', (data: Buffer) => chunks.push(data));
          handle(part);
        },
      },
    });
    try {
      await Promise.race([parse(ctx, async () => {}), gone]);
    } finally {
      framing[Symbol.dispose](); // what comes after a failure is dropped, and belongs to no part
    }
    checkNames(parts);
    const files = await uploadedFiles(
      (ctx.request.files ?? {}) as Record<string, FormidableFile | FormidableFile[]>,
      folders.artifactsDir ?? tempDir,
    );
    const fields = parts.flatMap(({ name, isFile, chunks }) =>
      isFile ? [] : [{ name, value: Buffer.concat(chunks) }],
    );
    return { fields, files, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw fromFormidable(error, limits);
  }
}

/** Rejects when the connection closes before the request is complete. formidable misses this while it prepares. */
function whenGone({ req }: Context): Promise<never> {
  return new Promise((_, reject) => {
    const onClose = (): void => {
      if (!req.readableEnded) reject(req.errored instanceof AanaError ? req.errored : goneError());
    };
    if (req.destroyed) onClose();
    else req.once('close', onClose);
  });
}

function checkNames(parts: readonly { readonly name: string; readonly isFile: boolean }[]): void {
  if (parts.some(({ name }) => name === ''))
    throw validationError([{ type: 'missing', loc: [], msg: 'A part of the form has no name', input: null }]);
  if (parts.some(({ name }) => name === '__proto__'))
    throw validationError([
      { type: 'extra_forbidden', loc: ['__proto__'], msg: 'A part of the form cannot have this name', input: null },
    ]);
  const files = parts.filter(({ isFile }) => isFile).map(({ name }) => name);
  const repeated = files.filter((name, i) => files.indexOf(name) !== i);
  if (repeated.length > 0) throw duplicateParts(repeated);
}

/** Returns the error for names that more than one part has. */
export function duplicateParts(names: readonly string[]): AanaError {
  return validationError(
    [...new Set(names)].map((name) => ({
      type: 'duplicate_part',
      loc: [name],
      msg: 'More than one part of the form has this name',
      input: name,
    })),
  );
}
