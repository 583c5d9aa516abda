import { multipart, type PluginFunction } from 'formidable';
import { fail } from '../../../../base/core/errors.ts';
import { tooLarge } from '../too-large.ts';
import { countArrived } from './disk-room.ts';
import { extendedName, unescaped } from './file-names.ts';

/** Limit of the headers of a part. No client needs more for the name and the type of a part. */
const HEAD_BYTES = 8 * 1024;

/** An event of formidable's parser about the bytes that it reads. */
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
 * formidable's reader of forms, with limits on the headers of a part and on the number of parts. formidable has no
 * limit on headers. It keeps them in memory and searches them in time that grows with the square of their length, so a
 * header of a megabyte would block the whole host for minutes. It counts files only after all of them are on the disk.
 *
 * @param folder where the files are written. The form ends when its disk has no room.
 */
export function multipartWithLimits(maxParts: number, folder: string): PluginFunction {
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
      if (event.name === 'partData') countArrived(folder, (event.end ?? 0) - (event.start ?? 0), end);
      if (!isOver && headBytes > HEAD_BYTES) end(tooLarge('the headers of a part are too large', HEAD_BYTES));
      if (!isOver && parts > maxParts)
        end(
          fail('RequestTooLarge', `the form has too many parts: the limit is ${maxParts}`, {
            data: { limit: maxParts },
          }),
        );
      if (isOver) event.name = ''; // no listener reads further
    });
  };
}

/** The head of a part, before formidable reads the part. */
export interface PartHead {
  name: string | null;
  originalFilename: string | null;
  mimetype: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Undoes the escapes of names, and marks a part as a file if it has a file name, because formidable decides by the
 * content type. A part that `isText` names is never a file.
 */
export function classify(part: PartHead, isText: (part: PartHead) => boolean): void {
  part.name = part.name && unescaped(part.name);
  part.originalFilename = part.originalFilename && unescaped(part.originalFilename);
  part.originalFilename ??= extendedName(part.headers?.['content-disposition'] ?? '');
  if (isText(part)) part.mimetype = null;
  else if (part.originalFilename !== null && !part.mimetype) part.mimetype = 'application/octet-stream';
}
