/** `data:` URLs (Fetch standard, 6). */
import { bytesOfBinary, unescaped } from './binary.ts';
import { mediaTypeText, parseMediaType } from './media-type.ts';

declare const atob: (base64: string) => string;

const BASE64 = /; *base64$/i;

/** Returns what a URL holds. Throws a `TypeError` for one that holds nothing. */
export function contentOf(url: string): { readonly type: string; readonly bytes: Uint8Array } {
  const [, head, body] = /^data:([^,#]*),([^#]*)/.exec(url) ?? [];
  if (head === undefined || body === undefined) throw new TypeError('fetch failed: the data: URL has no comma');
  const given = head.trim();
  const type = given.replace(BASE64, '');
  return {
    type: mediaTypeText(parseMediaType(type.replace(/^;/, 'text/plain;')) ?? PLAIN),
    bytes: bytesOfBinary(type === given ? unescaped(body) : decoded(unescaped(body))),
  };
}

const PLAIN = { essence: 'text/plain', parameters: new Map([['charset', 'US-ASCII']]) };

function decoded(base64: string): string {
  try {
    return atob(base64);
  } catch (cause) {
    throw new TypeError('fetch failed: the data: URL has no valid base64', { cause });
  }
}
