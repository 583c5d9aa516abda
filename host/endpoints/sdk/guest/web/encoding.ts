/** `TextEncoder` and `TextDecoder`, in components whose code names them. */
import { toBase64 } from '../base64.ts';
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

declare const atob: (base64: string) => string;

/** Decodes bytes that come in pieces. */
interface Decoder {
  read(bytes: Uint8Array): string;
  end(): string;
}

const LATIN1 = new RegExp(
  '^((us-)?ascii|ansi_x3\\.4-1968|(x-)?cp1252|windows-1252|cp819|ibm819|iso-ir-100|csisolatin1|l1|latin1|' +
    'iso[-_]?8859-?1(:1987)?)$',
);

/** The encodings, by their names (Encoding standard, 4.2), and how each is decoded. */
const encodings: readonly (readonly [name: string, labels: RegExp, make: (fatal: boolean) => Decoder])[] = [
  [
    'utf-8',
    /^(utf-?8|unicode-1-1-utf-8|unicode11utf8|unicode20utf8|x-unicode20utf8)$/,
    (fatal) => new Utf8Decoder(fatal),
  ],
  [
    'windows-1252',
    LATIN1,
    () => ({
      read: (bytes) => inLatin1(bytes).replace(/[\x80-\x9f]/g, (one) => SPECIAL[one.charCodeAt(0) - 0x80]!),
      end: () => '',
    }),
  ],
  [
    'utf-16le',
    /^(utf-16(le)?|unicode|csunicode|iso-10646-ucs-2|ucs-2|unicodefeff)$/,
    (fatal) => new Utf16Decoder(fatal),
  ],
];

/** What windows-1252 has from 0x80 to 0x9f (Encoding standard, "index windows-1252"). */
const SPECIAL = [...'€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'];

/** Returns the text whose characters are the bytes. */
const inLatin1 = (bytes: Uint8Array): string => atob(toBase64(bytes));

/** Decodes UTF-16 in the order of little-endian machines. */
class Utf16Decoder {
  readonly #isStrict: boolean;
  /** An incomplete unit, and the first half of a pair. */
  #byte: number | undefined;
  #half = '';

  constructor(isStrict: boolean) {
    this.#isStrict = isStrict;
  }

  read(bytes: Uint8Array): string {
    const parts = [this.#half];
    const codes: number[] = [];
    for (const byte of bytes) {
      if (this.#byte === undefined) {
        this.#byte = byte;
        continue;
      }
      codes.push(this.#byte | (byte << 8));
      this.#byte = undefined;
      if (codes.length === 4096) parts.push(String.fromCharCode(...codes.splice(0)));
    }
    const text = parts.join('') + String.fromCharCode(...codes);
    const isCut = /[\ud800-\udbff]$/.test(text);
    this.#half = isCut ? text.slice(-1) : '';
    return this.#valid(isCut ? text.slice(0, -1) : text);
  }

  end(): string {
    const isCut = this.#byte !== undefined || this.#half !== '';
    this.#byte = undefined;
    this.#half = '';
    return isCut ? this.#valid('\ud800') : '';
  }

  #valid(text: string): string {
    const valid = (text as string & { toWellFormed(): string }).toWellFormed();
    if (this.#isStrict && valid !== text) throw new TypeError('the bytes are not valid utf-16le');
    return valid;
  }
}

export class TextDecoder {
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  readonly #decoder: Decoder;
  #isAtStart = true;

  constructor(label = 'utf-8', { fatal = false, ignoreBOM = false }: DecoderOptions = {}) {
    const known = encodings.find(([, labels]) => labels.test(String(label).trim().toLowerCase()));
    if (!known)
      throw new RangeError(
        `the encoding "${label}" is not known in a plugin: only ${encodings.map(([name]) => name).join(', ')} are`,
      );
    this.encoding = known[0];
    this.fatal = fatal;
    this.ignoreBOM = ignoreBOM;
    this.#decoder = known[2](fatal);
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
    return isAtStart && !this.ignoreBOM && this.encoding !== 'windows-1252' && text.startsWith('\ufeff')
      ? text.slice(1)
      : text;
  }
}
