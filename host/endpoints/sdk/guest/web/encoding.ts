/** `TextEncoder` and `TextDecoder` for UTF-8, in components whose code names them. */
import { decodeUtf8, encodeUtf8, Utf8Decoder } from '../utf8.ts';

export class TextEncoder {
  readonly encoding = 'utf-8';

  encode(text = ''): Uint8Array {
    return encodeUtf8(String(text));
  }

  encodeInto(text: string, into: Uint8Array): { read: number; written: number } {
    const bytes = encodeUtf8(String(text).slice(0, into.length)); // each unit of the text takes a byte or more
    let written = Math.min(bytes.length, into.length);
    while (((bytes[written] ?? 0) & 0xc0) === 0x80) written--; // it is within a character
    const taken = bytes.subarray(0, written);
    into.set(taken);
    return { read: decodeUtf8(taken).length, written };
  }
}

interface DecoderOptions {
  readonly fatal?: boolean;
  readonly ignoreBOM?: boolean;
}

export class TextDecoder {
  readonly encoding = 'utf-8';
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  readonly #decoder: Utf8Decoder;
  #isAtStart = true;

  constructor(label = 'utf-8', { fatal = false, ignoreBOM = false }: DecoderOptions = {}) {
    if (!/^\s*(utf-?8|unicode-1-1-utf-8|unicode11utf8|unicode20utf8|x-unicode20utf8)\s*$/i.test(label))
      throw new RangeError(`the encoding "${label}" is not known in a plugin: only utf-8 is`);
    this.fatal = fatal;
    this.ignoreBOM = ignoreBOM;
    this.#decoder = new Utf8Decoder(fatal);
  }

  decode(
    input: ArrayBuffer | ArrayBufferView = new Uint8Array(),
    { stream = false }: { readonly stream?: boolean } = {},
  ): string {
    const isAtStart = this.#isAtStart;
    this.#isAtStart = true; // also when it throws
    const bytes = ArrayBuffer.isView(input)
      ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
      : new Uint8Array(input);
    const text = this.#decoder.read(bytes) + (stream ? '' : this.#decoder.end());
    this.#isAtStart = !stream || (isAtStart && text === '');
    return isAtStart && !this.ignoreBOM && text.startsWith('\ufeff') ? text.slice(1) : text;
  }
}
