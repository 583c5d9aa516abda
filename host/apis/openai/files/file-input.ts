import type { RequestMessage } from '../chat/messages.ts';
import { base64Bytes } from '../base64.ts';
import { invalidValue } from '../fields.ts';
import type { InputItem, InputPart } from '../responses/input-items.ts';

/** A file in the dialog of a request. */
export interface FilePart {
  /** The part, as a parameter: `messages[0].content[1]`. */
  readonly part: string;
  /** The id or the data in the part, as a parameter: `messages[0].content[1].file.file_id`. */
  readonly param: string;
  /** The id of a stored file, or a file in the request. */
  readonly file: { readonly id: string } | NamedBytes;
  /** The part that takes its place, which is in the dialog. Its text is empty until the file is read. */
  readonly target: { text: string };
}

export interface NamedBytes {
  /** The name of the file, or its type. */
  readonly name: string;
  readonly bytes: Buffer;
}

/** A dialog with empty texts in the places of its files. */
export interface WithoutFiles<Dialog> {
  readonly dialog: Dialog;
  readonly files: readonly FilePart[];
}

/** Takes the files out of the messages of a chat request, and leaves audio in them. */
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

/** Takes the files out of the input of a response, and leaves audio in it. */
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
 * Returns the text in place of a file, which is added to `files` and whose text is empty until it is read. Undefined
 * for audio and for a file that has neither an id nor data.
 */
function textIn({ part, owner, role, file }: GivenFile, files: FilePart[]): FilePart['target'] | undefined {
  const { file_id: id, file_data: data, filename } = file;
  if (id == null && (data == null || isAudio(data))) return undefined;
  if (role !== 'user') throw invalidValue(`${part}.type`, 'only messages of the user have files');
  const target = { text: '' };
  if (id == null) {
    const param = `${owner}.file_data`;
    const bytes = typeof data === 'string' ? base64Bytes(data) : undefined;
    if (!bytes) throw invalidValue(param, 'it is not the base64 of a file');
    const name = typeof filename === 'string' ? filename : 'file_data';
    files.push({ part, param, file: { name, bytes }, target });
    return target;
  }
  const param = `${owner}.file_id`;
  if (typeof id !== 'string') throw invalidValue(param, 'it is not a text');
  if (data != null) throw invalidValue(`${owner}.file_data`, 'a file has a file_id or file_data, and not both');
  files.push({ part, param, file: { id }, target });
  return target;
}

const isAudio = (data: unknown): boolean => typeof data === 'string' && /^data:audio\//i.test(data.slice(0, 20));
