import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { fail } from '../../base/core/errors.ts';
import type { AsrSegment } from '../../base/schemas/index.ts';
import { subtitleSegments } from '../../base/transcripts/from-subtitles.ts';
import { documentForm } from './document-types.ts';
import { readPdf } from './read-pdf.ts';
import { type Reading, runReader, tooMuchText } from './run-reader.ts';
import { textOfBytes } from './text-of-bytes.ts';

export interface ReadDocumentOptions {
  /** The name of the file, which errors have. Its extension decides if there is no type. Default: that of the path. */
  readonly name?: string | undefined;
  /** The media type, such as `text/html`. */
  readonly type?: string | undefined;
  /** Most bytes of the text in UTF-8, but of subtitles at most 4 MiB. Default: 16 MiB. */
  readonly maxBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A document as `splitText` takes it, or the segments of subtitles as `splitTranscript` takes them. */
export type DocumentText =
  | { readonly kind: 'text' | 'markdown'; readonly text: string }
  | { readonly kind: 'transcript'; readonly segments: readonly AsrSegment[] };

const MAX_BYTES = 2 ** 24;
/** Hours of subtitles in which each word has its time. More would keep the host busy. */
const MAX_SUBTITLE_BYTES = 2 ** 22;
/** Segments that are read before other requests go on. */
const AT_ONCE = 1000;
const HTML_READER = fileURLToPath(new URL('./read-html-child.js', import.meta.url));

/**
 * Reads the text of a file: text, Markdown, HTML (as Markdown), PDF, or subtitles in SubRip or WebVTT. HTML and PDF are
 * read in a child process with limits, because such a file can make a reader compute and take memory without end.
 * Throws `UnsupportedDocument` for another type, and `UnreadableDocument` for a file that is damaged, encrypted, too
 * large or without text; both name the file. Rejects with the reason of the signal.
 */
export async function readDocument(path: string, options: ReadDocumentOptions = {}): Promise<DocumentText> {
  const { name = basename(path), type, maxBytes = MAX_BYTES, signal = new AbortController().signal } = options;
  const form = documentForm(name, type);
  signal.throwIfAborted();
  const size = await sizeOf(path, name);
  const reading = await (form === 'pdf'
    ? readPdf(path, maxBytes, signal)
    : form === 'html'
      ? runReader(HTML_READER, [path], { maxBytes, signal })
      : readText(path, size, form === 'subtitles' ? Math.min(maxBytes, MAX_SUBTITLE_BYTES) : maxBytes));
  if ('unreadable' in reading) throw unreadable(name, reading.unreadable);
  const { text } = reading;
  if (form !== 'subtitles') return { kind: form === 'markdown' || form === 'html' ? 'markdown' : 'text', text };
  const segments = await segmentsOf(text, signal);
  if (segments.length === 0) throw unreadable(name, 'has no subtitles with a text and its times');
  return { kind: 'transcript', segments };
}

async function segmentsOf(subtitles: string, signal: AbortSignal): Promise<AsrSegment[]> {
  const segments: AsrSegment[] = [];
  for (const segment of subtitleSegments(subtitles)) {
    segments.push(segment);
    if (segments.length % AT_ONCE > 0) continue;
    await nextTurn();
    signal.throwIfAborted();
  }
  return segments;
}

async function sizeOf(path: string, name: string): Promise<number> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile()) return found.size;
  throw fail('FileNotFoundError', `${shown(name)} does not exist, or is no file`, { data: { path } });
}

async function readText(path: string, size: number, maxBytes: number): Promise<Reading> {
  // In UTF-16 a text can take twice as many bytes as in UTF-8.
  if (size > 2 * maxBytes + 2) return { unreadable: tooMuchText(maxBytes) };
  const text = textOfBytes(await readFile(path));
  if (text === undefined) return { unreadable: 'is no text in UTF-8 or UTF-16' };
  if (Buffer.byteLength(text) > maxBytes) return { unreadable: tooMuchText(maxBytes) };
  return text.trim() === '' ? { unreadable: 'has no text' } : { text };
}

const shown = (name: string): string => `the file ${JSON.stringify(name.slice(0, 100))}`;

function unreadable(name: string, reason: string): Error {
  return fail('UnreadableDocument', `${shown(name)} ${reason}`, { data: { name } });
}
