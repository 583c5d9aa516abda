/**
 * Encodes text as UTF-8, because the sandbox's interpreter may lack `TextEncoder`. Half of a surrogate pair becomes
 * U+FFFD.
 */
export function encodeUtf8(text: string): Uint8Array {
  const bytes: number[] = [];
  for (const character of text) {
    const found = character.codePointAt(0) ?? 0;
    const code = found >= 0xd800 && found < 0xe000 ? 0xfffd : found; // half of a surrogate pair
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
  }
  return Uint8Array.from(bytes);
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
  const parts: string[] = [];
  let part: number[] = [];
  for (let at = 0; at < bytes.length;) {
    const first = bytes[at] ?? 0;
    const more =
      first < 0x80
        ? 0
        : first >= 0xc2 && first < 0xe0
          ? 1
          : first >= 0xe0 && first < 0xf0
            ? 2
            : first >= 0xf0 && first < 0xf5
              ? 3
              : -1;
    let code = more <= 0 ? first : first & (0x3f >> more);
    let taken = 1;
    while (taken <= more && ((bytes[at + taken] ?? 0) & 0xc0) === 0x80)
      code = (code << 6) | ((bytes[at + taken++] ?? 0) & 63);
    const isWhole =
      more >= 0 &&
      taken === more + 1 &&
      code >= (MINIMUM[more] ?? 0) &&
      code <= 0x10ffff &&
      !(code >= 0xd800 && code < 0xe000);
    part.push(isWhole ? code : 0xfffd);
    at += taken;
    if (part.length === 4096) {
      parts.push(String.fromCodePoint(...part));
      part = [];
    }
  }
  parts.push(String.fromCodePoint(...part));
  return parts.join('');
}

/** The smallest code that needs this many further bytes. */
const MINIMUM = [0, 0x80, 0x800, 0x10000];
