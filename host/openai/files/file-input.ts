import type { RequestMessage } from '../chat/messages.ts';
import { base64Bytes } from '../base64.ts';
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

/** Takes the files out of the messages of a chat request. Texts in `file_data` are read. */
export function filesOfMessages(messages: readonly RequestMessage[]): WithoutFiles<RequestMessage[]> {
  const files: FilePart[] = [];
  const dialog = messages.map((message, index) => {
    const { role, content } = message;
    if (!Array.isArray(content)) return message;
    const parts = content.map((given, n) => {
      if (given.type !== 'file') return given;
      const part = `messages[${index}].content[${n}]`;
      const text = textIn({ part, owner: `${part}.file`, role, file: given.file }, files);
      return text ? Object.assign(text, { type: 'text' as const }) : given;
    });
    return { ...message, content: parts };
  });
  return { dialog, files };
}

/** Takes the files out of the input of a response. Texts in `file_data` are read, and audio in it is left. */
export function filesOfInput(input: string | readonly InputItem[]): WithoutFiles<string | InputItem[]> {
  const files: FilePart[] = [];
  if (typeof input === 'string') return { dialog: input, files };
  const dialog = input.map((item, index) => {
    if (item.type !== 'message' || typeof item.content === 'string') return item;
    const parts = item.content.map((given, n): InputPart => {
      if (given.type !== 'input_file') return given;
      const part = `input[${index}].content[${n}]`;
      const text = textIn({ part, owner: part, role: item.role, file: given }, files);
      return text ? Object.assign(text, { type: 'input_text' as const }) : given;
    });
    return { ...item, content: parts };
  });
  return { dialog, files };
}

/** A file in a dialog. */
interface GivenFile {
  /** The part, as a parameter. */
  readonly part: string;
  /** What has the keys of the file, as a parameter. */
  readonly owner: string;
  readonly role: string;
  readonly file: { readonly file_id?: unknown; readonly file_data?: unknown; readonly filename?: unknown };
}

/**
 * Returns the text of a file, which is empty until the file is read if it is a stored one, which is added to `stored`.
 * Undefined for audio and for a file that has neither an id nor data.
 */
function textIn({ part, owner, role, file }: GivenFile, stored: FilePart[]): FilePart['place'] | undefined {
  const { file_id: id, file_data: data, filename } = file;
  if (id == null && (data == null || isAudio(data))) return undefined;
  if (role !== 'user') throw invalidValue(`${part}.type`, 'only messages of the user have files');
  const place = { text: '' };
  if (id == null) {
    const param = `${owner}.file_data`;
    const bytes = typeof data === 'string' ? base64Bytes(data) : undefined;
    if (!bytes) throw invalidValue(param, 'it is not the base64 of a file');
    place.text = fileText(param, typeof filename === 'string' ? filename : 'file_data', bytes);
    return place;
  }
  const param = `${owner}.file_id`;
  if (typeof id !== 'string') throw invalidValue(param, 'it is not a text');
  if (data != null) throw invalidValue(`${owner}.file_data`, 'a file has a file_id or file_data, and not both');
  stored.push({ part, param, id, place });
  return place;
}

const isAudio = (data: unknown): boolean => typeof data === 'string' && /^data:audio\//i.test(data.slice(0, 20));

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
