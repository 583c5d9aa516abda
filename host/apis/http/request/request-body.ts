import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from 'koa';
import type { AanaError } from '../../../base/core/errors.ts';
import { checkJson, decodeUtf8, type JsonLimits, jsonTooLarge, parseJson } from '../../../base/core/json/read-json.ts';
import { type UploadedFile, validationError } from '../../../endpoints/registry/index.ts';
import { letBodyCome } from '../server/continue.ts';
import { HttpError } from '../response/error-body.ts';
import { duplicateParts, type FormLimits, letFormCome, readForm } from './form/read-form.ts';
import type { UploadFolders } from './form/uploads.ts';
import { goneError } from './request-context.ts';
import { onlyBody } from './small-form.ts';

export type BodyLimits = FormLimits & JsonLimits;

/** Texts such as base64 that the JSON of a request may have in addition to `limits.max_json_bytes`. */
export interface LargeParts {
  readonly bytes: number;
  /** The keys of objects that have them. */
  readonly keys: ReadonlySet<string>;
}

const NO_LARGE_PARTS: LargeParts = { bytes: 0, keys: new Set() };

/** Where the files of a request go, and how large its JSON may be. */
interface BodyOptions extends UploadFolders {
  readonly limits: BodyLimits;
  readonly large: LargeParts;
}

export interface RequestBody extends AsyncDisposable {
  /** The parsed JSON input. */
  readonly input: unknown;
  readonly files: ReadonlyMap<string, UploadedFile>;
}

/** The body of a request that has none. */
export const noRequestBody: RequestBody = { input: {}, files: new Map(), [Symbol.asyncDispose]: async () => {} };

/** Space for the escapes of an urlencoded form. */
const FRAMING_BYTES = 64 * 1024;
/** Limit of the parts besides files, so that errors can name the unexpected ones. */
const OTHER_PARTS = 16;
/** A form of at most this size is read before it is parsed. */
const SMALL_FORM_BYTES = 64 * 1024;

/**
 * Reads a request: a form with the JSON input in the field `body` and files in parts of their own, or only the JSON. A
 * JSON object is also read where its content type is absent or that of a form. Files are streamed to `tempDir`. They
 * are deleted when the body is disposed, or when reading fails.
 */
export async function readBody(
  ctx: Context,
  limits: BodyLimits,
  tempDir: string | (() => Promise<string>),
  artifactsDir?: string,
  large = NO_LARGE_PARTS,
): Promise<RequestBody> {
  const options = { limits, large, tempDir, artifactsDir };
  const type = ctx.is('application/json', 'multipart/form-data', 'application/x-www-form-urlencoded', '+json');
  if (type === null) throw noBody();
  if (type === false && ctx.get('content-type') !== '') {
    throw new HttpError(
      'UnsupportedMediaType',
      `content type ${JSON.stringify(ctx.get('content-type'))} is not multipart/form-data, ` +
        `application/x-www-form-urlencoded or application/json`,
    );
  }
  checkEncodings(ctx);
  if (type === 'multipart/form-data') return readMultipart(ctx, options);

  const isForm = type === 'application/x-www-form-urlencoded';
  const most = limits.max_json_bytes + large.bytes;
  const limit = isForm ? most * 3 + FRAMING_BYTES : most;
  if (Number(ctx.get('content-length')) > limit) throw jsonTooLarge(limit);
  letBodyCome(ctx);
  const bytes = await readAll(ctx.req, limit);
  if (isLarge(bytes)) await nextTurn();
  const text = decodeUtf8(bytes);
  if (isLarge(bytes)) await nextTurn();
  // `curl -d` calls JSON a form.
  const isJson = !isForm || looksLikeObject(text);
  if (isJson && text.trim() === '') throw noBody();
  if (type === false && !looksLikeObject(text))
    throw new HttpError(
      'UnsupportedMediaType',
      'the request has no content type and is no JSON object: send content-type: application/json',
    );
  const json = isJson ? text : formField(text);
  if (isForm && Buffer.byteLength(json) > most) throw jsonTooLarge(most, 'the JSON in the form is too large');
  return bodyOf(json, options);
}

/** Bytes of a body from which others are answered between the steps of reading it. */
const LARGE_BODY_BYTES = 1 << 20;

/**
 * Whether decoding, counting, parsing and checking a body take tens of milliseconds each, so that others must be
 * answered between them.
 */
const isLarge = ({ length }: Uint8Array | string): boolean => length > LARGE_BODY_BYTES;

async function bodyOf(json: string, options: BodyOptions): Promise<RequestBody> {
  return { input: await inputOf(json, options), files: new Map(), [Symbol.asyncDispose]: async () => {} };
}

async function inputOf(json: string, { limits, large }: BodyOptions): Promise<unknown> {
  checkJson(json, limits, large.keys);
  if (isLarge(json)) await nextTurn();
  const input = parseJson(json);
  if (isLarge(json)) await nextTurn();
  return input;
}

/** Refuses encodings in which the text would be misread. */
export function checkEncodings(ctx: Context): void {
  const encoding = ctx.get('content-encoding').trim().toLowerCase();
  if (encoding !== '' && encoding !== 'identity')
    throw new HttpError(
      'UnsupportedMediaType',
      `content encoding ${JSON.stringify(encoding)} is not supported: send the request without encoding`,
    );
  const charset = ctx.get('content-type').includes(';') ? ctx.request.charset : '';
  if (charset !== '' && !/^(utf-?8|us-ascii)$/i.test(charset))
    throw new HttpError('UnsupportedMediaType', `charset ${JSON.stringify(charset)} is not supported: send UTF-8`);
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
      reject(jsonTooLarge(limit));
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

const looksLikeObject = (text: string): boolean => text.trimStart().startsWith('{');

function formField(text: string): string {
  const form = new URLSearchParams(text);
  const unknown = [...new Set(form.keys())].filter((name) => name !== 'body');
  const values = form.getAll('body');
  checkFields(
    unknown,
    values.some((value) => value.trim() !== ''),
  );
  if (values.length > 1) throw duplicateParts(['body']);
  return values[0] ?? '';
}

async function readMultipart(ctx: Context, options: BodyOptions): Promise<RequestBody> {
  letFormCome(ctx, formLimits(options));
  if (!(Number(ctx.get('content-length') || Number.NaN) <= SMALL_FORM_BYTES)) return formBody(ctx, options);
  const form = await readAll(ctx.req, SMALL_FORM_BYTES);
  const json = onlyBody(form, ctx.get('content-type'));
  if (json !== undefined && json.trim() !== '' && Buffer.byteLength(json) <= options.limits.max_json_bytes)
    return bodyOf(json, options);
  const again = Object.assign(Readable.from([form], { objectMode: false }), { headers: ctx.req.headers });
  return formBody(Object.create(ctx, { req: { value: again } }) as Context, options);
}

/** Returns the limits of a form whose text parts may have large parts. */
const formLimits = ({ limits, large }: BodyOptions): FormLimits => ({
  ...limits,
  max_json_bytes: limits.max_json_bytes + large.bytes,
});

async function formBody(ctx: Context, options: BodyOptions): Promise<RequestBody> {
  const form = await readForm(ctx, {
    limits: formLimits(options),
    folders: options,
    isText: ({ name }) => name === 'body',
    maxParts: options.limits.max_files + OTHER_PARTS,
  });
  try {
    const { fields, files } = form;
    refuseRepeated([...fields.map(({ name }) => name), ...files.keys()]);
    const text = decodeUtf8(fields.find(({ name }) => name === 'body')?.value ?? Buffer.alloc(0));
    const unknown = fields.map(({ name }) => name).filter((name) => name !== 'body');
    checkFields(unknown, text.trim() !== '');
    if (isLarge(text)) await nextTurn();
    const input = await inputOf(text, options);
    return { input, files, [Symbol.asyncDispose]: () => form[Symbol.asyncDispose]() };
  } catch (error) {
    await form[Symbol.asyncDispose]();
    throw error;
  }
}

function refuseRepeated(names: readonly string[]): void {
  const repeated = names.filter((name, i) => names.indexOf(name) !== i);
  if (repeated.length > 0) throw duplicateParts(repeated);
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
  msg: 'Field required: send JSON with content-type: application/json, or a form with the field "body"',
  input: null,
};

function noBody(): AanaError {
  const msg = 'The request has no body: send a JSON object with content-type: application/json';
  return validationError([{ type: 'missing', loc: ['body'], msg, input: null }]);
}

function unknownField(name: string): { type: string; loc: string[]; msg: string; input: null } {
  return {
    type: 'extra_forbidden',
    loc: [name],
    msg: 'The form can only have the field "body" and file parts',
    input: null,
  };
}
