import type { RequestMessage } from '../chat/messages.ts';
import { base64Bytes } from '../base64.ts';
import { invalidValue } from '../fields.ts';
import type { InputItem, InputPart } from '../responses/input-items.ts';

/** What a file is for a model. An image is a data URL. */
export type FileContent = { readonly text: string } | { readonly image: string };

/** A file in the dialog of a request. */
export interface FilePart {
  /** The part, as a parameter: `messages[0].content[1]`. */
  readonly part: string;
  /** The id or the data in the part, as a parameter: `messages[0].content[1].file.file_id`. */
  readonly param: string;
  /** The id of a stored file, or a file in the request. */
  readonly file: { readonly id: string } | NamedBytes;
  /** What the file must be. Undefined: a text or an image, as its bytes are. */
  readonly kind?: 'text' | 'image';
  /** Puts what the file is into its place in the dialog, which has an empty part until then. */
  put(content: FileContent): void;
}

export interface NamedBytes {
  /** The name of the file, or its type. */
  readonly name: string;
  readonly bytes: Buffer;
}

/** A dialog with empty parts in the places of its files. */
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
      const place: ContentPart = { type: 'text', text: '' };
      const put = (content: FileContent): void =>
        become(
          place,
          'text' in content ? { type: 'text', ...content } : { type: 'image_url', image_url: { url: content.image } },
        );
      return isTaken({ part, owner: `${part}.file`, role, file: given.file, put }, files) ? place : given;
    });
    return { ...message, content: parts };
  });
  return { dialog, files };
}

type ContentPart = Exclude<RequestMessage['content'], string | null | undefined>[number];

/** Takes the files and the images of stored files out of the input of a response, and leaves audio in it. */
export function filesOfInput(input: string | readonly InputItem[]): WithoutFiles<string | InputItem[]> {
  const files: FilePart[] = [];
  if (typeof input === 'string') return { dialog: input, files };
  const dialog = input.map((item, index) => {
    if ('output' in item && typeof item.output !== 'string')
      return {
        ...item,
        output: item.output.map((part, n) => withoutImage(part, `input[${index}].output[${n}]`, files)),
      };
    if (item.type !== 'message' || typeof item.content === 'string') return item;
    const parts = item.content.map((given, n): InputPart => {
      const part = `input[${index}].content[${n}]`;
      if (given.type !== 'input_file') return withoutImage(given, part, files);
      const place: InputPart = { type: 'input_text', text: '' };
      const put = (content: FileContent): void =>
        become(place, 'text' in content ? { type: 'input_text', ...content } : imagePart(content.image));
      return isTaken({ part, owner: part, role: item.role, file: given, put }, files) ? place : given;
    });
    return { ...item, content: parts };
  });
  return { dialog, files };
}

const imagePart = (url: string, detail?: ImagePart['detail']): ImagePart => ({
  type: 'input_image',
  image_url: url,
  detail,
});

type ImagePart = Extract<InputPart, { readonly type: 'input_image' }>;

/** Returns the part in the place of an image of a stored file, which is added to `files`; other parts as they are. */
function withoutImage(given: InputPart, part: string, files: FilePart[]): InputPart {
  if (given.type !== 'input_image' || given.file_id == null) return given;
  const { file_id: id, image_url: url, detail } = given;
  const param = `${part}.file_id`;
  if (url != null) throw invalidValue(param, 'an image has an image_url or a file_id, and not both');
  const place = imagePart('', detail);
  const put = (content: FileContent): void => {
    if ('image' in content) become(place, imagePart(content.image, detail));
  };
  files.push({ part, param, file: { id }, kind: 'image', put });
  return place;
}

/** Makes a part another one. It stays the same object, because other parts of the host have it already. */
function become<Part extends object>(place: Part, content: Part): void {
  for (const key of Object.keys(place)) delete (place as Record<string, unknown>)[key];
  Object.assign(place, content);
}

/** A file in a dialog. */
interface GivenFile extends Pick<FilePart, 'put'> {
  /** The part, as a parameter. */
  readonly part: string;
  /** What has the keys of the file, as a parameter. */
  readonly owner: string;
  readonly role: string;
  readonly file: { readonly file_id?: unknown; readonly file_data?: unknown; readonly filename?: unknown };
}

/** Adds a file to `files`. Returns false for audio and for a file that has neither an id nor data. */
function isTaken({ part, owner, role, file, put }: GivenFile, files: FilePart[]): boolean {
  const { file_id: id, file_data: data, filename } = file;
  if (id == null && (data == null || isAudio(data))) return false;
  if (role !== 'user') throw invalidValue(`${part}.type`, 'only messages of the user have files');
  if (id == null) {
    const param = `${owner}.file_data`;
    const bytes = typeof data === 'string' ? base64Bytes(data) : undefined;
    if (!bytes) throw invalidValue(param, 'it is not the base64 of a file');
    const name = typeof filename === 'string' ? filename : 'file_data';
    files.push({ part, param, file: { name, bytes }, put });
    return true;
  }
  const param = `${owner}.file_id`;
  if (typeof id !== 'string') throw invalidValue(param, 'it is not a text');
  if (data != null) throw invalidValue(`${owner}.file_data`, 'a file has a file_id or file_data, and not both');
  files.push({ part, param, file: { id }, put });
  return true;
}

const isAudio = (data: unknown): boolean => typeof data === 'string' && /^data:audio\//i.test(data.slice(0, 20));
