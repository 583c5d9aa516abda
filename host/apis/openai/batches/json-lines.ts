import { setImmediate as turn } from 'node:timers/promises';

/** A line that is not blank. */
export interface JsonLine {
  /** Counted from 1, with blank lines. */
  readonly number: number;
  /** Undefined for a line that has too many bytes. */
  readonly bytes: Buffer | undefined;
}

const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
/** Space, tab and carriage return. */
const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0d]);

/**
 * Yields the lines of a file that are not blank. At most `maxBytes` of a line are held in memory. The event loop turns
 * at least once for each chunk of the file, because reads of a fast disk do not always let it turn.
 */
export async function* jsonLines(file: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<JsonLine, void> {
  let parts: Buffer[] = [];
  let length = 0;
  let number = 1;
  const add = (part: Buffer): void => {
    length += part.length;
    if (length <= maxBytes) parts.push(part);
    else parts = [];
  };
  const take = (): JsonLine | undefined => {
    const bytes = length > maxBytes ? undefined : withoutMark(Buffer.concat(parts), number);
    const line = { number, bytes };
    parts = [];
    length = 0;
    number += 1;
    return bytes?.every((byte) => BLANKS.has(byte)) ? undefined : line;
  };
  for await (const chunk of file) {
    await turn();
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      if (end === start && length === 0) {
        number += 1;
        start += 1;
        continue;
      }
      add(chunk.subarray(start, end));
      const line = take();
      if (line) yield line;
      start = end + 1;
    }
    add(chunk.subarray(start));
  }
  const last = length > 0 ? take() : undefined;
  if (last) yield last;
}

/** Returns the first line without the mark with which some editors begin a file. */
function withoutMark(bytes: Buffer, number: number): Buffer {
  const isMarked = number === 1 && bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  return isMarked ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
}
