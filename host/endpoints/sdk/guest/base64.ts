// The engine of the sandbox has these functions, which Node 20 and 24 lack.
interface NativeBase64 {
  readonly fromBase64?: (text: string) => Uint8Array;
}
interface NativeBytes extends Uint8Array {
  readonly toBase64?: () => string;
}
declare const atob: (base64: string) => string;
declare const btoa: (bytes: string) => string;

/** Decodes base64. Throws `SyntaxError` for another text. */
export function fromBase64(text: string): Uint8Array {
  const { fromBase64: native } = Uint8Array as NativeBase64;
  if (native) return native.call(Uint8Array, text);
  try {
    return Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0));
  } catch {
    throw new SyntaxError('the text is no base64');
  }
}

/** Encodes bytes in base64, with padding. Throws `TypeError` for what JavaScript may pass instead. */
export function toBase64(bytes: Uint8Array): string {
  if (!(bytes instanceof Uint8Array)) throw new TypeError('bytes must be a Uint8Array');
  const native = (bytes as NativeBytes).toBase64?.();
  return native ?? btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}
