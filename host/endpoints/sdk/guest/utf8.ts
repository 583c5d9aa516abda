/**
 * UTF-8. It uses functions that are native in the interpreter, because JavaScript takes 10 to 30 times as long there.
 * They work on texts whose characters are bytes (`atob`, `escape`).
 */
import { fromBase64, toBase64 } from './base64.ts';
import { joinedBytes } from './bytes.ts';

declare const atob: (base64: string) => string;
declare const btoa: (bytes: string) => string;

/** What is converted at once. Between, a byte takes up to three characters. */
const pieceLength = 65_536;

const NOT_ASCII = /[\x80-\xff]/;
/** Characters of more bytes, without overlong forms, halves of surrogate pairs and what is beyond Unicode. */
const LONG =
  '[\\xc2-\\xdf]C|\\xe0[\\xa0-\\xbf]C|[\\xe1-\\xec\\xee\\xef]CC|\\xed[\\x80-\\x9f]C|' +
  '\\xf0[\\x90-\\xbf]CC|[\\xf1-\\xf3]CCC|\\xf4[\\x80-\\x8f]CC';
/** The beginnings of such characters. */
const BEGUN =
  '[\\xc2-\\xdf]|\\xe0[\\xa0-\\xbf]?|[\\xe1-\\xec\\xee\\xef]C?|\\xed[\\x80-\\x9f]?|' +
  '\\xf0(?:[\\x90-\\xbf]C?)?|[\\xf1-\\xf3]C{0,2}|\\xf4(?:[\\x80-\\x8f]C?)?';
const pattern = (source: string, flags?: string): RegExp => new RegExp(source.replaceAll('C', '[\\x80-\\xbf]'), flags);
/** The first group has what is valid. The rest is each replaced by one U+FFFD. */
const PARTS = pattern(`([\\0-\\x7f]+|(?:${LONG})+)|${BEGUN}|[^]`, 'g');
const CUT = pattern(`(?:${BEGUN})$`);

/** Encodes text as UTF-8. Half of a surrogate pair becomes U+FFFD. */
export function encodeUtf8(text: string): Uint8Array {
  const whole = (text as string & { toWellFormed(): string }).toWellFormed();
  const pieces: Uint8Array[] = [];
  for (let at = 0, end: number; at < whole.length; at = end) {
    end = at + pieceLength;
    if (/^[\ud800-\udbff]/.test(whole.charAt(end - 1))) end--; // a pair stays together
    pieces.push(fromBase64(btoa(unescape(encodeURIComponent(whole.slice(at, end))))));
  }
  return pieces.length === 1 ? pieces[0]! : joinedBytes(pieces);
}

/**
 * Compares texts by their bytes in UTF-8, the order of the stores. JavaScript's own order differs: a surrogate pair
 * comes before U+E000.
 */
export function compareUtf8(a: string, b: string): number {
  const [left, right] = [encodeUtf8(a), encodeUtf8(b)];
  const at = left.findIndex((byte, index) => byte !== right[index]);
  return at < 0 ? left.length - right.length : (left[at] ?? 0) - (right[at] ?? -1);
}

/** Decodes UTF-8. Invalid bytes become U+FFFD. */
export function decodeUtf8(bytes: Uint8Array): string {
  const decoder = new Utf8Decoder();
  return decoder.read(bytes) + decoder.end();
}

/** Decodes UTF-8 that comes in pieces, which may end within a character. */
export class Utf8Decoder {
  readonly #isStrict: boolean;
  /** The bytes of a character that is not complete. */
  #rest = '';

  /** @param isStrict whether invalid bytes throw `TypeError`. Otherwise they become U+FFFD. */
  constructor(isStrict = false) {
    this.#isStrict = isStrict;
  }

  /** Returns the characters that are complete. */
  read(bytes: Uint8Array): string {
    const parts: string[] = [];
    for (let at = 0; at < bytes.length; at += pieceLength) {
      const given = this.#rest + atob(toBase64(bytes.subarray(at, at + pieceLength)));
      const last = given.slice(-3);
      const cut = last.search(CUT);
      this.#rest = cut < 0 ? '' : last.slice(cut);
      parts.push(this.#decoded(given.slice(0, given.length - this.#rest.length)));
    }
    return parts.join('');
  }

  /** Returns what stands for a character that has not become complete, or ''. */
  end(): string {
    const rest = this.#rest;
    this.#rest = '';
    return this.#decoded(rest);
  }

  #decoded(bytes: string): string {
    if (!NOT_ASCII.test(bytes)) return bytes;
    try {
      return decodeURIComponent(escape(bytes));
    } catch {
      if (!this.#isStrict)
        return bytes.replace(PARTS, (_part, valid?: string) =>
          valid === undefined ? '\ufffd' : decodeURIComponent(escape(valid)),
        );
      this.#rest = '';
      throw new TypeError('the bytes are not valid utf-8');
    }
  }
}
