import { isUtf8 } from 'node:buffer';

const HEAD = /^content-disposition: ?form-data; ?name="body"(?:\r\ncontent-type: ?[\w!#$&^.+/;= -]*)?$/i;
const TYPE = /^multipart\/form-data; ?boundary=(?:"([\w'()+,./:=?-]+)"|([\w'()+./:=?-]+))$/i;
const HEAD_END = Buffer.from('\r\n\r\n');

/**
 * The field `body` of a multipart form that has nothing else, which is what most requests are: read in place, where the
 * parser for forms with files, and a folder for them, would be much of the cost. Undefined for any other form and
 * whatever is unusual, broken or in doubt: those are the parser's.
 */
export function onlyBody(form: Buffer, contentType: string): string | undefined {
  const [, quoted, plain] = TYPE.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return undefined;
  const delimiter = `\r\n--${boundary}`;
  const headStart = delimiter.length; // the first delimiter has no line before it, but one after it
  if (form.toString('latin1', 0, headStart) !== `--${boundary}\r\n`) return undefined;
  const headEnd = form.indexOf(HEAD_END, headStart);
  if (headEnd < 0) return undefined;
  const head = form.toString('latin1', headStart, headEnd);
  if (!HEAD.test(head) || !head.includes('name="body"')) return undefined; // a field's name is told apart by case, its header is not
  const valueStart = headEnd + HEAD_END.length;
  const valueEnd = form.indexOf(delimiter, valueStart, 'latin1');
  if (valueEnd < 0) return undefined;
  const rest = form.toString('latin1', valueEnd + delimiter.length);
  if (rest !== '--\r\n' && rest !== '--') return undefined;
  const value = form.subarray(valueStart, valueEnd);
  const hasMark = value[0] === 0xef; // a byte-order mark, perhaps
  return isUtf8(value) && !hasMark ? value.toString('utf8') : undefined;
}
