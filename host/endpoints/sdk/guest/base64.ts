// The engine of the sandbox has these functions, which Node 20 and 24 lack.
interface NativeBase64 {
  readonly fromBase64?: (text: string) => Uint8Array;
}
interface NativeBytes extends Uint8Array {
  readonly toBase64?: () => string;
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const values = new Uint8Array(128).fill(255);
for (let n = 0; n < 64; n++) values[ALPHABET.charCodeAt(n)] = n;

/** Decodes base64. Throws `SyntaxError` for another text. */
export function fromBase64(text: string): Uint8Array {
  const { fromBase64: native } = Uint8Array as NativeBase64;
  if (native) return native.call(Uint8Array, text);
  const end = text.endsWith('==') ? text.length - 2 : text.endsWith('=') ? text.length - 1 : text.length;
  const bytes = new Uint8Array(Math.floor((end * 3) / 4));
  let held = 0;
  let bits = 0;
  let length = 0;
  for (let at = 0; at < end; at++) {
    const value = values[text.charCodeAt(at)] ?? 255;
    if (value === 255) throw new SyntaxError(`the character ${at} is no base64`);
    held = ((held << 6) | value) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[length++] = held >> bits;
    }
  }
  return bytes;
}

/** Encodes bytes in base64, with padding. */
export function toBase64(bytes: Uint8Array): string {
  const native = (bytes as NativeBytes).toBase64?.();
  if (native !== undefined) return native;
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += 3) {
    const three = (bytes[at]! << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    const four = [18, 12, 6, 0].map((shift) => ALPHABET[(three >> shift) & 63]).join('');
    const missing = Math.max(0, at + 3 - bytes.length);
    parts.push(four.slice(0, 4 - missing) + '='.repeat(missing));
  }
  return parts.join('');
}
