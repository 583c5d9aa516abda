import { isUtf8 } from 'node:buffer';
import type { Context } from 'koa';
import type { UploadedFile } from '../../../endpoints/registry/index.ts';
import { formReader } from './form-input.ts';
import { invalidValue, type RequestFields } from '../fields.ts';
import { letFormCome, type MultipartForm, readForm } from '../../http/request/form/read-form.ts';
import { checkEncodings } from '../../http/request/request-body.ts';
import { HttpError } from '../../http/response/error-body.ts';
import { checkedRequest, type OpenAiHttpOptions, refuseUntilDeployed, type RequestOf } from './openai-request.ts';

/** A request with a file. The file is deleted when the request is disposed. */
export interface FormRequest<Request> extends AsyncDisposable {
  readonly request: Request;
  readonly file: UploadedFile;
}

/** More parts than any client sends. */
const MAX_PARTS = 64;

/**
 * Returns a function that reads and checks the form of a request with one file, in the part `filePart`. Parameters
 * without effect are treated as in requests of JSON.
 */
export function formRequests<Fields extends RequestFields>(
  fields: Fields,
  options: OpenAiHttpOptions,
  filePart = 'file',
): (ctx: Context) => Promise<FormRequest<RequestOf<Fields>>> {
  const { limits, tempDir, artifactsDir } = options;
  const toInput = formReader(fields.schema, limits);
  return async (ctx) => {
    refuseUntilDeployed(options);
    if (!ctx.is('multipart/form-data'))
      throw new HttpError(
        'UnsupportedMediaType',
        `this route takes multipart/form-data with the file in the part ${JSON.stringify(filePart)}`,
      );
    checkEncodings(ctx);
    letFormCome(ctx, limits);
    const form = await readForm(ctx, {
      limits,
      folders: { tempDir, artifactsDir },
      // Some clients send a content type with every text.
      isText: ({ name, originalFilename }) => name !== filePart && originalFilename === null,
      maxParts: MAX_PARTS,
    });
    try {
      const input = { ...toInput(textsOf(form, filePart)), ...(form.files.has(filePart) && { [filePart]: filePart }) };
      const request = checkedRequest(ctx, fields, input, options);
      return { request, file: form.files.get(filePart)!, [Symbol.asyncDispose]: () => form[Symbol.asyncDispose]() };
    } catch (error) {
      await form[Symbol.asyncDispose]();
      throw error;
    }
  };
}

/**
 * Returns the text parts of a form. Throws `InvalidParameter` for files where texts belong, and the other way round.
 */
function textsOf(
  { fields, files }: MultipartForm,
  filePart: string,
): { readonly name: string; readonly text: string }[] {
  const other = [...files.keys()].find((name) => name !== filePart);
  if (other !== undefined) throw invalidValue(other, `it is a file; the only file is ${JSON.stringify(filePart)}`);
  return fields.map(({ name, value }) => {
    if (name === filePart) throw invalidValue(filePart, 'it is a text: send a file, which has a file name');
    if (!isUtf8(value)) throw invalidValue(name, 'it is not UTF-8');
    return { name, text: value.toString('utf8') };
  });
}
