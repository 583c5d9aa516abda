import type { RequestMessage } from '../chat/messages.ts';
import { base64Bytes } from '../base64.ts';
import { invalidValue } from '../fields.ts';
import type { InputItem, InputPart } from '../responses/input-items.ts';

/** Audio in the dialog of a request. */
export interface AudioPart {
  /** The part, as a parameter: `messages[0].content[1]`. */
  readonly part: string;
  /** The audio in the part, as a parameter: `messages[0].content[1].input_audio.data`. */
  readonly param: string;
  /** Base64. */
  readonly data: string;
  /** The part that takes its place, which is in the dialog. Its text is empty until the audio is transcribed. */
  readonly target: { text: string };
}

/** A dialog with empty texts in the places of its audio. */
export interface WithoutAudio<Dialog> {
  readonly dialog: Dialog;
  readonly audio: readonly AudioPart[];
}

/** Returns whether a message has audio. */
export const hasAudio = (messages: readonly RequestMessage[]): boolean =>
  messages.some(({ content }) => Array.isArray(content) && content.some(({ type }) => type === 'input_audio'));

/** Takes the audio out of the messages of a chat request, for a model that does not hear it. */
export function audioOfMessages(messages: readonly RequestMessage[]): WithoutAudio<RequestMessage[]> {
  const audio: AudioPart[] = [];
  const dialog = messages.map((message, index) => {
    const { role, content } = message;
    if (!Array.isArray(content)) return message;
    const parts = content.map((given, n) => {
      if (given.type !== 'input_audio') return given;
      const target = { type: 'text' as const, text: '' };
      const part = `messages[${index}].content[${n}]`;
      refuseUnlessUser(part, role);
      audio.push({ part, param: `${part}.input_audio.data`, data: given.input_audio.data, target });
      return target;
    });
    return { ...message, content: parts };
  });
  return { dialog, audio };
}

/** Returns the input of a response with the audio of files as `input_audio`, for a model that hears it. */
export function withAudioParts(input: string | readonly InputItem[]): string | InputItem[] {
  if (typeof input === 'string') return input;
  return input.map((item) => {
    if (item.type !== 'message' || typeof item.content === 'string') return item;
    return { ...item, content: item.content.map((part) => (part.type === 'input_file' ? heardFile(part) : part)) };
  });
}

function heardFile(part: Extract<InputPart, { readonly type: 'input_file' }>): InputPart {
  const found = audioIn(part);
  // ffmpeg tells the format from the bytes.
  return found ? { type: 'input_audio', input_audio: { data: found.data, format: '' } } : part;
}

/**
 * Takes the audio out of the input of a response, for a model that does not hear it: `input_audio`, and `input_file`
 * with a data URL of audio.
 */
export function audioOfInput(input: string | readonly InputItem[]): WithoutAudio<string | InputItem[]> {
  const audio: AudioPart[] = [];
  if (typeof input === 'string') return { dialog: input, audio };
  const dialog = input.map((item, index) => {
    if (item.type !== 'message' || typeof item.content === 'string') return item;
    const parts = item.content.map((given, n): InputPart => {
      const found = audioIn(given);
      if (!found) return given;
      const target = { type: 'input_text' as const, text: '' };
      const part = `input[${index}].content[${n}]`;
      refuseUnlessUser(part, item.role);
      audio.push({ part, param: `${part}.${found.key}`, data: found.data, target });
      return target;
    });
    return { ...item, content: parts };
  });
  return { dialog, audio };
}

function refuseUnlessUser(part: string, role: string): void {
  if (role !== 'user') throw invalidValue(`${part}.type`, 'only messages of the user have audio');
}

const AUDIO_URL = /^data:audio\/[\w.+-]+(?:;[\w.+-]+=[\w.+-]+)*;base64,/;

function audioIn(part: InputPart): { readonly key: string; readonly data: string } | undefined {
  if (part.type === 'input_audio') return { key: 'input_audio.data', data: part.input_audio.data };
  const url = part.type === 'input_file' ? (part.file_data ?? '') : '';
  const [head] = AUDIO_URL.exec(url) ?? [];
  return head === undefined ? undefined : { key: 'file_data', data: url.slice(head.length) };
}

/** Returns the bytes of audio. Throws `InvalidParameter` for data that is not base64. */
export function audioBytes({ param, data }: Pick<AudioPart, 'param' | 'data'>): Buffer {
  const bytes = base64Bytes(data);
  if (!bytes?.length) throw invalidValue(param, 'it is not the base64 of a file');
  return bytes;
}
