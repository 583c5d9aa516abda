/** White space that can become a space: not the spaces at which no line may break. */
const SPACES = /[^\S\u00a0\u2007\u202f\ufeff]+/gu;

/** Returns a text without line breaks and repeated spaces, and without spaces at its ends. */
export function oneLine(text: string): string {
  return text.replaceAll('\0', '\ufffd').replaceAll(SPACES, ' ').trim();
}
