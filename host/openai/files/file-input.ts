import type { RequestMessage } from '../chat/messages.ts';
import { invalidValue } from '../fields.ts';
import type { InputItem, InputPart } from '../responses/input-items.ts';

/** A stored file in the dialog of a request. */
export interface FilePart {
  /** The part, as a parameter: `messages[0].content[1]`. */
  readonly part: string;
  /** The id in the part, as a parameter: `messages[0].content[1].file.file_id`. */
  readonly param: string;
  readonly id: string;
  /** The part that takes its place, which is in the dialog. Its text is empty until the file is read. */
  readonly place: { text: string };
}

/** A dialog with empty texts in the places of its stored files. */
export interface WithoutFiles<Dialog> {
  readonly dialog: Dialog;
  readonly files: readonly FilePart[];
}

/** Takes the stored files out of the messages of a chat request. */
export function filesOfMessages(messages: readonly RequestMessage[]): WithoutFiles<RequestMessage[]> {
  const files: FilePart[] = [];
  const dialog = messages.map((message, index) => {
    const { role, content } = message;
    if (!Array.isArray(content)) return message;
    const parts = content.map((given, n) => {
      if (given.type !== 'file' || given.file['file_id'] == null) return given;
      const place = { type: 'text' as const, text: '' };
      const part = `messages[${index}].content[${n}]`;
      files.push(filePart(part, `${part}.file`, role, given.file, place));
      return place;
    });
    return { ...message, content: parts };
  });
  return { dialog, files };
}

/** Takes the stored files out of the input of a response: `input_file` with a `file_id`. */
export function filesOfInput(input: string | readonly InputItem[]): WithoutFiles<string | InputItem[]> {
  const files: FilePart[] = [];
  if (typeof input === 'string') return { dialog: input, files };
  const dialog = input.map((item, index) => {
    if (item.type !== 'message' || typeof item.content === 'string') return item;
    const parts = item.content.map((given, n): InputPart => {
      if (given.type !== 'input_file' || given.file_id == null) return given;
      const place = { type: 'input_text' as const, text: '' };
      const part = `input[${index}].content[${n}]`;
      files.push(filePart(part, part, item.role, given, place));
      return place;
    });
    return { ...item, content: parts };
  });
  return { dialog, files };
}

function filePart(
  part: string,
  owner: string,
  role: string,
  { file_id: id, file_data: data }: { readonly file_id?: unknown; readonly file_data?: unknown },
  place: FilePart['place'],
): FilePart {
  const param = `${owner}.file_id`;
  if (role !== 'user') throw invalidValue(`${part}.type`, 'only messages of the user have files');
  if (typeof id !== 'string') throw invalidValue(param, 'it is not a text');
  if (data != null) throw invalidValue(`${owner}.file_data`, 'a file has a file_id or file_data, and not both');
  return { part, param, id, place };
}

/** Control characters that no text has. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const NO_TEXT = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/;

/**
 * Returns the text of a file. Its bytes decide whether it is one, because names such as `index.ts` have types of media.
 * Throws `InvalidParameter`, which names `param`, for other files. `called` is the name of the file, or its type.
 */
export function fileText(param: string, called: string, bytes: Uint8Array): string {
  const text = decoded(bytes);
  const name = JSON.stringify(called.slice(0, 100));
  if (isPdf(bytes))
    throw invalidValue(param, `the file ${name} is a PDF, which the server does not read; give its text`);
  if (text === undefined || NO_TEXT.test(text))
    throw invalidValue(param, `the file ${name} is no text in UTF-8; the model reads text and JSON`);
  return text;
}

const isPdf = (bytes: Uint8Array): boolean => Buffer.from(bytes.subarray(0, 5)).toString('latin1') === '%PDF-';

/** Returns the text without a byte order mark; undefined if it is not UTF-8. */
function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
