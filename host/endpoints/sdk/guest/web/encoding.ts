/** `TextEncoder` and `TextDecoder` for UTF-8, in components whose code names them. */

const REPLACEMENT = 0xfffd;
/** The leading bits of the first byte of a character, by the number of its bytes. */
const FIRST_BYTE = [0, 0, 0xc0, 0xe0, 0xf0];

export class TextEncoder {
  readonly encoding = 'utf-8';

  encode(text = ''): Uint8Array {
    const bytes = new Uint8Array(utf8Length(String(text)));
    this.encodeInto(String(text), bytes);
    return bytes;
  }

  encodeInto(text: string, into: Uint8Array): { read: number; written: number } {
    let written = 0;
    let read = 0;
    for (const character of text) {
      const code = codeOf(character);
      const length = lengthOf(code);
      if (written + length > into.length) break;
      if (length === 1) into[written] = code;
      else {
        for (let at = length - 1, rest = code; at > 0; at--, rest >>= 6) into[written + at] = 0x80 | (rest & 0x3f);
        into[written] = FIRST_BYTE[length]! | (code >> (6 * (length - 1)));
      }
      written += length;
      read += character.length;
    }
    return { read, written };
  }
}

const isLoneSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdfff;
const lengthOf = (code: number): number => (code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);

function codeOf(character: string): number {
  const code = character.codePointAt(0)!;
  return isLoneSurrogate(code) ? REPLACEMENT : code;
}

function utf8Length(text: string): number {
  let sum = 0;
  for (const character of text) sum += lengthOf(codeOf(character));
  return sum;
}

interface DecoderOptions {
  readonly fatal?: boolean;
  readonly ignoreBOM?: boolean;
}

export class TextDecoder {
  readonly encoding = 'utf-8';
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  /** The bits of an incomplete character, and the number of its missing bytes. */
  #code = 0;
  #missing = 0;
  /** The range of the next byte of the character. It excludes overlong forms, surrogates and codes beyond Unicode. */
  #lower = 0x80;
  #upper = 0xbf;
  #isAtStart = true;

  constructor(label = 'utf-8', { fatal = false, ignoreBOM = false }: DecoderOptions = {}) {
    if (!/^\s*(utf-?8|unicode-1-1-utf-8|unicode11utf8|unicode20utf8|x-unicode20utf8)\s*$/i.test(label))
      throw new RangeError(`the encoding "${label}" is not known in a plugin: only utf-8 is`);
    this.fatal = fatal;
    this.ignoreBOM = ignoreBOM;
  }

  decode(
    input: ArrayBuffer | ArrayBufferView = new Uint8Array(),
    { stream = false }: { readonly stream?: boolean } = {},
  ): string {
    const bytes = ArrayBuffer.isView(input)
      ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
      : new Uint8Array(input);
    const parts: string[] = [];
    let codes: number[] = [];
    const put = (code: number): void => {
      if (this.#isAtStart && code === 0xfeff && !this.ignoreBOM) this.#isAtStart = false;
      else {
        this.#isAtStart = false;
        if (codes.push(code) < 4096) return;
        parts.push(String.fromCodePoint(...codes));
        codes = [];
      }
    };
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (this.#missing === 0) this.#begin(byte, put);
      else if (byte < this.#lower || byte > this.#upper) {
        this.#reset();
        this.#malformed(put);
        at--; // this byte may begin a character
      } else {
        this.#lower = 0x80;
        this.#upper = 0xbf;
        this.#code = (this.#code << 6) | (byte & 0x3f);
        if (--this.#missing === 0) put(this.#code);
      }
    }
    if (!stream) {
      const isCut = this.#missing > 0;
      this.#reset();
      if (isCut) this.#malformed(put);
      this.#isAtStart = true;
    }
    return parts.join('') + String.fromCodePoint(...codes);
  }

  #begin(byte: number, put: (code: number) => void): void {
    if (byte < 0x80) return put(byte);
    if (byte < 0xc2 || byte > 0xf4) return this.#malformed(put);
    this.#missing = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    this.#code = byte & (0x3f >> this.#missing);
    if (byte === 0xe0) this.#lower = 0xa0;
    if (byte === 0xed) this.#upper = 0x9f;
    if (byte === 0xf0) this.#lower = 0x90;
    if (byte === 0xf4) this.#upper = 0x8f;
  }

  #reset(): void {
    this.#missing = 0;
    this.#lower = 0x80;
    this.#upper = 0xbf;
  }

  #malformed(put: (code: number) => void): void {
    if (!this.fatal) return put(REPLACEMENT);
    this.#isAtStart = true;
    throw new TypeError('the bytes are not valid utf-8');
  }
}
