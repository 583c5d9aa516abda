import { multipart, type PluginFunction } from 'formidable';
import { AanaError } from '../../core/errors.ts';
import { tooLarge } from './json.ts';

/** More than any client needs for the name and type of a part. */
const HEAD_BYTES = 8 * 1024;

/** What formidable's parser tells of the bytes that it reads. */
interface ParserEvent {
  name: string;
  readonly start?: number;
  readonly end?: number;
}

/** The members of formidable that its plugins use. */
interface Form {
  readonly _parser?: { prependListener(event: 'data', listener: (event: ParserEvent) => void): void };
  _error(error: Error): void;
}

/**
 * formidable's reader of forms, with limits on the headers of a part and on the number of parts. It has none of its own
 * for headers, keeps them in memory, and searches them in time that grows with the square of their length: a header of
 * a megabyte would keep the whole host busy for minutes. It counts files when all are on the disk.
 */
export function multipartWithLimits(maxParts: number): PluginFunction {
  return function (this: unknown, formidable, options) {
    multipart.call(this, formidable, options);
    const form = formidable as unknown as Form;
    let headBytes = 0;
    let parts = 0;
    let isOver = false;
    const end = (error: Error): void => {
      isOver = true;
      form._error(error);
    };
    form._parser?.prependListener('data', (event) => {
      if (event.name === 'partBegin') {
        headBytes = 0;
        parts += 1;
      }
      if (event.name === 'headerField' || event.name === 'headerValue')
        headBytes += (event.end ?? 0) - (event.start ?? 0);
      if (!isOver && headBytes > HEAD_BYTES) end(tooLarge('the headers of a part are too large', HEAD_BYTES));
      if (!isOver && parts > maxParts)
        end(
          new AanaError('RequestTooLarge', 'too-large', `the form has too many parts: the limit is ${maxParts}`, {
            data: { limit: maxParts },
          }),
        );
      if (isOver) event.name = ''; // nobody reads on
    });
  };
}

/** What formidable tells of a part before it reads it. */
export interface PartHead {
  name: string | null;
  originalFilename: string | null;
  mimetype: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * formidable takes a part for a file by its content type; what makes it one is a file name, and `body` is never one.
 */
export function classify(part: PartHead): void {
  part.originalFilename ??= extendedName(part.headers?.['content-disposition'] ?? '');
  if (part.name === 'body') part.mimetype = null;
  else if (part.originalFilename !== null && !part.mimetype) part.mimetype = 'application/octet-stream';
}

/**
 * The name in `filename*=UTF-8''…`, which some clients send alone for a name that is not ASCII; empty when it cannot be
 * read.
 */
function extendedName(disposition: string): string | null {
  const [, encoded] = /;\s*filename\*=utf-8'[\w-]*'([^\s;]*)/i.exec(disposition) ?? [];
  if (encoded === undefined) return null;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return '';
  }
}
