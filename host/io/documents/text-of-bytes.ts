/** Control characters that no text has. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const NO_TEXT = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/;

/**
 * Returns a text without its byte order mark: UTF-16 if it has the mark of it, otherwise UTF-8. Undefined for bytes
 * that are no such text. Nothing is replaced, because a replaced letter would be searched for in vain.
 */
export function textOfBytes(bytes: Uint8Array, encoding: string = encodingOf(bytes)): string | undefined {
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    return NO_TEXT.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}
