// The texts in the images of dialogs, for models that see no images.
import * as z from 'zod/mini';
import { boundedMap } from '../../../base/core/async/bounded-map.ts';
import { fail } from '../../../base/core/errors.ts';
import { checkedValue } from '../../../base/schemas/checks/checked-value.ts';
import { validationEntries, validationMessage } from '../../../base/schemas/checks/validation.ts';
import {
  type ContentPart,
  type DialogMessage,
  type ImageChatDialog,
  type ImageReference,
  textOfContent,
} from '../../../base/schemas/index.ts';
import type { TextsOfTenant } from './read-texts.ts';

type ImagePart = Extract<ContentPart, { readonly type: 'image' }>;

/** A deployment that reads. */
export interface ImageReader {
  readonly name: string;
  /** Calls its method `recognize`. A class of an application may return anything. */
  recognize(image: ImageReference, signal: AbortSignal): Promise<unknown>;
}

/** Images of a call that are read at the same time: a replica reads one, and the next one is there when it ends. */
const AT_A_TIME = 2;

/** Whether the dialog in the arguments of a call, which are not checked yet, has an image or a video. */
export function hasImages(args: Readonly<Record<string, unknown>> | null | undefined): boolean {
  const { messages } = (args?.['dialog'] ?? {}) as { readonly messages?: unknown };
  if (!Array.isArray(messages)) return false;
  return messages.some((message: { readonly content?: unknown } | null | undefined) => {
    const content = message?.content;
    return Array.isArray(content) && content.some((part: { readonly type?: unknown } | null) => IMAGES.has(part?.type));
  });
}

const IMAGES: ReadonlySet<unknown> = new Set(['image', 'video']);

/**
 * Returns the dialog with the texts of its images in their places. Images are numbered, frames of videos have their
 * times, and frames that follow each other with one text have one place. Texts that `read` has are not read again.
 * Throws `InvalidOutput` for a reader that returns no texts.
 */
export async function withImageTexts(
  dialog: ImageChatDialog,
  reader: ImageReader,
  read: TextsOfTenant,
  signal: AbortSignal = new AbortController().signal,
): Promise<ImageChatDialog> {
  const images = new Map<string, ImageReference>();
  for (const part of dialog.messages.flatMap(imagesIn)) images.set(nameOf(part), part.image);
  const texts = await boundedMap([...images], AT_A_TIME, signal, async ([name, image], ending) => {
    const known = read.get(name);
    if (known !== undefined) return [name, known] as const;
    const text = quoted(linesOf(reader.name, await reader.recognize(image, ending)));
    read.add(name, text);
    return [name, text] as const;
  });
  return withTexts(dialog, new Map(texts));
}

/** What is read of the output of a reader. */
const Read = z.object({ lines: z.array(z.object({ text: z.string() })) });

/** Returns the lines of text in the output of a reader. Throws `InvalidOutput`. */
function linesOf(reader: string, output: unknown): string[] {
  const { value, issues } = checkedValue(Read, output);
  if (!issues) return value.lines.flatMap(({ text }) => text.split(LINE_END));
  const why = validationMessage(validationEntries(issues, output));
  throw fail('InvalidOutput', `${reader}.recognize returned no texts of an image: ${why}`);
}

/** What models and people may take for the end of a line. */
const LINE_END = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/;

/** Each line is quoted, so that no text in a picture looks like the end of its place. */
const quoted = (lines: readonly string[]): string => lines.map((line) => `> ${line}`).join('\n');

/** The digest alone does not tell how the pixels lie in rows. */
const nameOf = ({ image: { pixels, width } }: ImagePart): string => `${pixels.sha256} ${width}`;

const imagesIn = ({ content }: DialogMessage): ImagePart[] =>
  typeof content === 'string' ? [] : content.filter((part) => part.type === 'image');

function withTexts({ messages }: ImageChatDialog, texts: ReadonlyMap<string, string>): ImageChatDialog {
  let images = 0;
  const placeOf = ({ from, to }: Reading): string =>
    from === undefined ? `Image ${(images += 1)}` : timesOf(from, to);
  return {
    messages: messages.map((message) => {
      if (typeof message.content === 'string') return message;
      const parts = readingsOf(message.content, texts).map((one): ContentPart =>
        'type' in one ? one : { type: 'text', text: placed(placeOf(one), one.text) },
      );
      const isText = parts.every(({ type }) => type === 'text');
      return { ...message, content: isText ? textOfContent(parts) : parts };
    }),
  };
}

/** The text of an image, or of frames of a video that follow each other, with the times of the first and the last. */
interface Reading {
  readonly text: string;
  readonly from?: number | undefined;
  to?: number | undefined;
}

/** Returns the parts of a content with the texts of images in their places. Frames with one text have one. */
function readingsOf(content: readonly ContentPart[], texts: ReadonlyMap<string, string>): (ContentPart | Reading)[] {
  const all: (ContentPart | Reading)[] = [];
  for (const part of content) {
    if (part.type !== 'image') {
      all.push(part);
      continue;
    }
    const { time } = part;
    const text = texts.get(nameOf(part))!;
    const last = all.at(-1);
    const shown = last && !('type' in last) && last.text === text ? last : undefined;
    if (shown?.to !== undefined && time !== undefined && time >= shown.to) shown.to = time;
    else all.push({ text, from: time, to: time });
  }
  return all;
}

const timesOf = (from: number, to = from): string =>
  from === to ? `Video at ${from.toFixed(1)} seconds` : `Video from ${from.toFixed(1)} to ${to.toFixed(1)} seconds`;

/** Returns what the model reads in the place of an image. `text` is quoted. */
const placed = (place: string, text: string): string =>
  text === '' ? `[${place}: no text was read]` : `[${place}: its text, read by OCR]\n${text}`;
