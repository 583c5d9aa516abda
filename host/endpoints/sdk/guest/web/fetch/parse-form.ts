/** Forms that arrive: `application/x-www-form-urlencoded` and `multipart/form-data`. */
import { binaryOf, bytesOfBinary, textOfBinary, unescaped } from './binary.ts';
import { File, withoutMark } from './blob.ts';
import { FormData } from './form-data.ts';
import { parseMediaType } from './media-type.ts';

const HEADER = /^[\t ]*([\w!#$%&'*+.^`|~-]+)[\t ]*:[\t ]*(.*?)[\t ]*$/;
const DISPOSITION = /^form-data; name="([^"]*)"(?:; filename\*?="([^"]*)")?$/;

/** Reads a form. Throws a `TypeError` for another media type, and for a form with an error. */
export function parsedForm(bytes: Uint8Array, contentType: string): FormData {
  const { essence, parameters } = parseMediaType(contentType) ?? {};
  if (essence === 'application/x-www-form-urlencoded') return urlencoded(binaryOf(bytes));
  if (essence !== 'multipart/form-data')
    throw new TypeError(`a body of the type ${JSON.stringify(contentType)} is no form`);
  const boundary = parameters!.get('boundary');
  if (boundary === undefined) throw malformed('its media type names no boundary');
  return multipart(binaryOf(bytes), boundary);
}

function urlencoded(binary: string): FormData {
  const form = new FormData();
  const decoded = (text: string): string => textOfBinary(unescaped(text.replaceAll('+', ' ')));
  for (const pair of binary.split('&').filter((one) => one !== '')) {
    const [name = '', ...value] = pair.split('=');
    form.append(decoded(name), decoded(value.join('=')));
  }
  return form;
}

function multipart(binary: string, boundary: string): FormData {
  const form = new FormData();
  const [before, ...parts] = `\r\n${withoutLineEnds(binary)}`.split(`\r\n--${boundary}`);
  if (before !== '' || parts.pop() !== '--') throw malformed('it does not begin and end with its boundary');
  for (const part of parts) {
    const end = part.indexOf('\r\n\r\n');
    if (end < 0 || !part.startsWith('\r\n')) throw malformed('a part has no end of its headers');
    const { name, filename, type } = headOf(part.slice(2, end));
    const content = bytesOfBinary(part.slice(end + 4));
    if (filename === undefined) form.append(name, withoutMark(textOfBinary(part.slice(end + 4))));
    else form.append(name, new File([content], filename, { type }));
  }
  return form;
}

/** Servers write line ends before and after a form. */
function withoutLineEnds(binary: string): string {
  let [from, to] = [0, binary.length];
  while (binary.startsWith('\r\n', from)) from += 2;
  while (binary.endsWith('\r\n', to)) to -= 2;
  return binary.slice(from, to);
}

interface PartHead {
  readonly name: string;
  readonly filename: string | undefined;
  readonly type: string;
}

function headOf(lines: string): PartHead {
  let disposition: RegExpExecArray | null = null;
  let type = 'text/plain';
  for (const line of lines.split('\r\n')) {
    const [, header = '', value = ''] = HEADER.exec(line) ?? [];
    switch (header.toLowerCase()) {
      case '':
        throw malformed('a line of a part is no header');
      case 'content-disposition':
        disposition = DISPOSITION.exec(value);
        if (!disposition) throw malformed('a part has an invalid content-disposition');
        break;
      case 'content-type':
        type = value;
    }
  }
  const [, name, filename] = disposition ?? [];
  if (name === undefined) throw malformed('a part has no name');
  return { name: unquoted(name), filename: filename === undefined ? undefined : unquoted(filename), type };
}

const unquoted = (binary: string): string =>
  withoutMark(textOfBinary(binary)).replace(/%0a/gi, '\n').replace(/%0d/gi, '\r').replaceAll('%22', '"');

const malformed = (why: string): TypeError => new TypeError(`the body is no valid multipart form: ${why}`);
