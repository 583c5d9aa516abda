import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { koaBody } from 'koa-body';
import { artifactOf } from '../../artifacts/index.ts';
import { AanaError, cancelledError } from '../../core/errors.ts';
import { type UploadedFile, validationError } from '../../endpoints/index.ts';
import { letBodyCome } from '../server/continue.ts';
import { HttpError } from '../response/error-body.ts';
import { decodeUtf8, parseJson, tooLarge } from './json.ts';
import { classify, multipartWithLimits, type PartHead } from './part-heads.ts';
import { onlyBody } from './small-form.ts';

export interface BodyLimits {
  readonly max_body_bytes: number;
  readonly max_file_bytes: number;
  readonly max_files: number;
  readonly max_json_bytes: number;
  readonly max_json_depth: number;
}

export interface RequestBody extends AsyncDisposable {
  /** The parsed JSON input. */
  readonly input: unknown;
  readonly files: ReadonlyMap<string, UploadedFile>;
}

/** Space for the boundaries and headers of parts, and for the escapes of an urlencoded form. */
const FRAMING_BYTES = 64 * 1024;
/** Limit of the parts besides files, so that errors can name the unexpected ones. */
const OTHER_PARTS = 16;
/** A form of at most this size is read before it is parsed. */
const SMALL_FORM_BYTES = 64 * 1024;

/**
 * Reads a request: a form with the JSON input in the field `body` and files in parts of their own, or only the JSON.
 * Files are streamed to `tempDir`. They are deleted when the body is disposed, or when reading fails.
 */
export async function readBody(
  ctx: Context,
  limits: BodyLimits,
  tempDir: string | (() => Promise<string>),
  artifactsDir?: string,
): Promise<RequestBody> {
  const type = ctx.is('multipart/form-data', 'application/x-www-form-urlencoded', 'application/json', '+json');
  if (type === null) throw missingBody(); // the request has no body
  if (type === false && ctx.get('content-type') !== '') {
    throw new HttpError(
      'UnsupportedMediaType',
      415,
      `content type ${JSON.stringify(ctx.get('content-type'))} is not multipart/form-data, application/x-www-form-urlencoded or application/json`,
    );
  }
  if (type === false && ctx.get('content-length') === '0') throw missingBody();
  if (type === false)
    throw new HttpError(
      'UnsupportedMediaType',
      415,
      'the request has no content type: send multipart/form-data, application/x-www-form-urlencoded or application/json',
    );
  checkEncodings(ctx);
  if (type === 'multipart/form-data') return readMultipart(ctx, limits, { tempDir, artifactsDir });

  const isForm = type === 'application/x-www-form-urlencoded';
  const limit = isForm ? limits.max_json_bytes * 3 + FRAMING_BYTES : limits.max_json_bytes;
  if (Number(ctx.get('content-length')) > limit) throw tooLarge('the request is too large', limit);
  letBodyCome(ctx);
  const text = decodeUtf8(await readAll(ctx.req, limit));
  const json = isForm ? formField(text, limits.max_json_bytes) : text;
  if (json.trim() === '') throw missingBody();
  return { input: parseJson(json, limits.max_json_depth), files: new Map(), [Symbol.asyncDispose]: async () => {} };
}

/** Refuses encodings in which the text would be misread. */
function checkEncodings(ctx: Context): void {
  const encoding = ctx.get('content-encoding').trim().toLowerCase();
  if (encoding !== '' && encoding !== 'identity')
    throw new HttpError(
      'UnsupportedMediaType',
      415,
      `content encoding ${JSON.stringify(encoding)} is not supported: send the request without encoding`,
    );
  const { charset } = ctx.request;
  if (charset !== '' && !/^(utf-?8|us-ascii)$/i.test(charset))
    throw new HttpError('UnsupportedMediaType', 415, `charset ${JSON.stringify(charset)} is not supported: send UTF-8`);
}

/** Reads the whole request. If it exceeds the limit, the rest stays unread, so that an answer can be sent first. */
function readAll(req: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const done = (): void => {
      req.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= limit) return;
      done();
      req.pause();
      reject(tooLarge('the request is too large', limit));
    };
    const onEnd = (): void => {
      done();
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes));
    };
    const onGone = (): void => {
      done();
      reject(goneError());
    };
    if (req.destroyed) return onGone();
    return void req.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}

function formField(text: string, limit: number): string {
  const form = new URLSearchParams(text);
  const unknown = [...new Set(form.keys())].filter((name) => name !== 'body');
  const values = form.getAll('body');
  checkFields(
    unknown,
    values.some((value) => value.trim() !== ''),
  );
  if (values.length > 1) throw duplicateParts(['body']);
  const value = values[0] ?? '';
  if (Buffer.byteLength(value) > limit) throw tooLarge('the field "body" is too large', limit);
  return value;
}

async function readMultipart(ctx: Context, limits: BodyLimits, folders: UploadFolders): Promise<RequestBody> {
  const total = limits.max_body_bytes + limits.max_json_bytes + FRAMING_BYTES;
  const length = Number(ctx.get('content-length') || Number.NaN);
  if (length > total) throw tooLarge('the request is too large', limits.max_body_bytes);
  letBodyCome(ctx);
  if (!(length <= SMALL_FORM_BYTES)) return parseMultipart(ctx, limits, folders);
  const form = await readAll(ctx.req, SMALL_FORM_BYTES);
  const json = onlyBody(form, ctx.get('content-type'));
  if (json !== undefined && json.trim() !== '' && Buffer.byteLength(json) <= limits.max_json_bytes) {
    return { input: parseJson(json, limits.max_json_depth), files: new Map(), [Symbol.asyncDispose]: async () => {} };
  }
  const again = Object.assign(Readable.from([form], { objectMode: false }), { headers: ctx.req.headers });
  return parseMultipart(Object.create(ctx, { req: { value: again } }) as Context, limits, folders);
}

async function parseMultipart(ctx: Context, limits: BodyLimits, folders: UploadFolders): Promise<RequestBody> {
  const gone = whenGone(ctx);
  gone.catch(() => {}); // the race below handles it
  const tempDir = await folderOf(folders).catch((error: unknown) => {
    throw fromFormidable(error, limits);
  });
  const uploadDir = await mkdtemp(join(tempDir, 'upload-')).catch((error: unknown) => {
    throw fromFormidable(error, limits);
  });
  const framing = limitFraming(ctx.request.req, limits.max_json_bytes + FRAMING_SLACK_BYTES);
  const dispose = (): Promise<void> => rm(uploadDir, { recursive: true, force: true, maxRetries: 3, retryDelay: 20 });
  try {
    const names: string[] = [];
    const json: Buffer[] = [];
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
        maxFields: limits.max_files + OTHER_PARTS,
        maxFieldsSize: limits.max_json_bytes,
        allowEmptyFiles: true,
        enabledPlugins: [multipartWithLimits(limits.max_files + OTHER_PARTS)],
        minFileSize: 0,
        hashAlgorithm: 'sha256', // computed while the file streams to the disk, so that it is not read again
        onPart: (part, handle) => {
          const head = part as unknown as PartHead;
          names.push(head.name ?? '');
          classify(head);
          part.on('data', (data: Buffer) => framing.account(data.length));
          if (part.name === 'body') part.on('data', (data: Buffer) => json.push(data)); // the text from formidable has lost bytes that are not UTF-8
          handle(part);
        },
      },
    });
    await Promise.race([parse(ctx, async () => {}), gone]);
    checkNames(names);
    const files = await uploadedFiles(
      (ctx.request.files ?? {}) as Record<string, FormidableFile | FormidableFile[]>,
      folders.artifactsDir ?? tempDir,
    );
    const unknown = names.filter((name) => name !== 'body' && !files.has(name));
    const text = decodeUtf8(Buffer.concat(json));
    checkFields(unknown, text.trim() !== '');
    return { input: parseJson(text, limits.max_json_depth), files, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw fromFormidable(error, limits);
  } finally {
    framing[Symbol.dispose]();
  }
}

interface UploadFolders {
  /** A folder that exists, or a function that makes one and returns it. */
  readonly tempDir: string | (() => Promise<string>);
  /** The folder that ids of uploads are relative to. Default: `tempDir`. */
  readonly artifactsDir?: string | undefined;
}

async function folderOf({ tempDir }: UploadFolders): Promise<string> {
  return typeof tempDir === 'string' ? tempDir : tempDir();
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

function goneError(): AanaError {
  return cancelledError('the client closed the connection while it sent the request');
}

const FRAMING_CHECK_MS = 25;
/** Limit above the bytes that can be in buffers between the socket and the parts. */
const FRAMING_SLACK_BYTES = 4 * 1024 * 1024;

/**
 * Ends a request that has too many bytes outside of its parts. formidable reads without limit before the first part and
 * after the last one.
 */
function limitFraming(req: IncomingMessage, limit: number): Disposable & { account(bytes: number): void } {
  const start = req.socket.bytesRead;
  let accounted = 0;
  const timer = setInterval(() => {
    if (req.socket.bytesRead - start - accounted > limit)
      req.destroy(tooLarge('the form has too many bytes outside of its parts', limit));
  }, FRAMING_CHECK_MS);
  return {
    // base64 encodes three bytes as four
    account: (bytes) => void (accounted += Math.ceil((bytes * 4) / 3)),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

function checkNames(names: readonly string[]): void {
  if (names.includes(''))
    throw validationError([{ type: 'missing', loc: [], msg: 'A part of the form has no name', input: null }]);
  const repeated = names.filter((name, i) => names.indexOf(name) !== i);
  if (repeated.length > 0) throw duplicateParts([...new Set(repeated)]);
  if (names.includes('__proto__')) throw validationError([unknownField('__proto__')]);
}

interface FormidableFile {
  readonly filepath: string;
  readonly originalFilename: string | null;
  readonly mimetype: string | null;
  readonly size: number;
  /** SHA-256 in hexadecimal. */
  readonly hash: string;
}

async function uploadedFiles(
  parts: Record<string, FormidableFile | FormidableFile[]>,
  artifactsDir: string,
): Promise<Map<string, UploadedFile>> {
  const files = new Map<string, UploadedFile>();
  for (const [name, part] of Object.entries(parts)) {
    const { filepath: path, originalFilename, mimetype, size: bytes, hash } = [part].flat()[0] as FormidableFile;
    // formidable counts a file as stored, and reports the sent size, even if the last writes have failed.
    const artifact = await artifactOf(artifactsDir, path, hash).catch(() => undefined);
    if (artifact?.bytes !== bytes) throw storageFull();
    const filename = originalFilename?.replace(/^.*[/\\]/s, ''); // some clients send a path
    files.set(name, {
      path,
      artifact,
      bytes,
      ...(filename ? { filename } : {}),
      ...(mimetype ? { mimeType: mimetype } : {}),
    });
  }
  return files;
}

function storageFull(cause?: unknown): AanaError {
  return new AanaError('StorageFull', 'unavailable', 'the uploaded file does not fit on the disk of the server', {
    cause,
  });
}

/**
 * Refuses a form that lacks `body` or has other fields. The error lists all of them, so that it shows a misspelt field
 * next to the missing one.
 */
function checkFields(unknown: readonly string[], hasBody: boolean): void {
  const wrong = [...(hasBody ? [] : [MISSING_BODY]), ...unknown.map(unknownField)];
  if (wrong.length > 0) throw validationError(wrong);
}

const MISSING_BODY: Parameters<typeof validationError>[0][number] = {
  type: 'missing',
  loc: ['body', 'body'],
  msg: 'Field required',
  input: null,
};

function missingBody(): AanaError {
  return validationError([MISSING_BODY]);
}

function unknownField(name: string): { type: string; loc: string[]; msg: string; input: null } {
  return {
    type: 'extra_forbidden',
    loc: [name],
    msg: 'The form can only have the field "body" and file parts',
    input: null,
  };
}

function duplicateParts(names: readonly string[]): AanaError {
  return validationError(
    names.map((name) => ({
      type: 'duplicate_part',
      loc: [name],
      msg: 'More than one part of the form has this name',
      input: name,
    })),
  );
}

/** Translates an error of formidable by its code (see its `FormidableError.js`). */
function fromFormidable(error: unknown, limits: BodyLimits): unknown {
  if (error instanceof AanaError || !(error instanceof Error)) return error;
  const { code, httpCode } = error as Error & { code?: unknown; httpCode?: number };
  switch (code) {
    case 1002:
      return goneError();
    case 1006:
      return tooLarge('the fields of the form are too large', limits.max_json_bytes);
    case 1007:
      return new AanaError('RequestTooLarge', 'too-large', 'the form has too many fields');
    case 1009:
      return tooLarge('the uploaded files together are too large', limits.max_body_bytes);
    case 1015:
      return new AanaError(
        'RequestTooLarge',
        'too-large',
        `too many files were uploaded: the limit is ${limits.max_files}`,
        { data: { limit: limits.max_files } },
      );
    case 1016:
      return tooLarge('an uploaded file is too large', limits.max_file_bytes);
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      return storageFull(error);
    default:
      break;
  }
  if (httpCode === undefined) return error;
  const reason = /stream ended unexpectedly/.test(error.message)
    ? 'it does not follow the boundary of its content type, or ends early'
    : error.message;
  return new AanaError('MalformedRequest', 'bad-request', `the multipart form cannot be read: ${reason}`, {
    cause: error,
  });
}
