import { AnswerFormatError } from './format-error.ts';

/** Bounds of a stream of server-sent events. A server that exceeds one is broken or hostile. */
export interface EventLimits {
  /** Longest line, in bytes. */
  readonly maxLineBytes: number;
  /** Longest stream, in bytes. */
  readonly maxBytes: number;
}

const NEWLINE = 10;
const RETURN = 13;

/**
 * Yields the data of each server-sent event. Each line of data is its own event, because answers of language models are
 * one line of JSON. Comments and other fields are skipped. Throws {@link AnswerFormatError} for a stream that exceeds a
 * bound.
 */
export async function* eventData(
  body: AsyncIterable<Uint8Array>,
  { maxLineBytes, maxBytes }: EventLimits,
): AsyncGenerator<string, void, undefined> {
  let line: Uint8Array[] = [];
  let lineBytes = 0;
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new AnswerFormatError(`it is longer than ${maxBytes} bytes`);
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const data = dataOf(Buffer.concat([...line, chunk.subarray(from, end)]));
      line = [];
      lineBytes = 0;
      from = end + 1;
      if (data !== undefined) yield data;
    }
    if (from === chunk.length) continue;
    line.push(chunk.subarray(from));
    lineBytes += chunk.length - from;
    if (lineBytes > maxLineBytes) throw new AnswerFormatError(`it has a line of more than ${maxLineBytes} bytes`);
  }
  const data = dataOf(Buffer.concat(line));
  if (data !== undefined) yield data;
}

function dataOf(line: Buffer): string | undefined {
  const end = line.at(-1) === RETURN ? line.length - 1 : line.length;
  const found = /^data: ?(.*)$/s.exec(line.toString('utf8', 0, end));
  return found?.[1];
}
