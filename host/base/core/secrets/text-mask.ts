/** What replaces a secret in a text. */
export const HIDDEN = '…';
/** Shorter secrets are not searched for, because they occur everywhere. */
const LEAST_CHARS = 4;
/** So many characters of a secret are hidden also where the others are missing. */
const PIECE_CHARS = 12;

/**
 * Returns a function that replaces secrets in a text, also where they are written as in JSON or in a URL. Secrets of
 * less than four characters stay.
 */
export function textMask(secrets: Iterable<string>): (text: string) => string {
  const longestFirst = [...formsOf(secrets)].sort((a, b) => b.length - a.length);
  return (text) => longestFirst.reduce((clean, form) => clean.replaceAll(form, HIDDEN), text);
}

/**
 * Like {@link textMask}, and replaces also parts of secrets of 12 characters or more: a text may be cut, or the plugin
 * has put a secret into a URL without writing it as a URL has it.
 */
export function partialMask(secrets: Iterable<string>): (text: string) => string {
  const pieces = new Set<string>();
  const short: string[] = [];
  for (const form of formsOf(secrets)) {
    if (form.length < PIECE_CHARS) short.push(form);
    for (let at = 0; at + PIECE_CHARS <= form.length; at += 1) pieces.add(form.slice(at, at + PIECE_CHARS));
  }
  const hideShort = textMask(short);
  const ends = new Uint8Array(0x1_0000); // most positions of a text are no beginning of a piece, and this tells it fast
  for (const piece of pieces) ends[endsOf(piece, 0)] = 1;
  return (text) => {
    let clean = '';
    let from = 0;
    for (let at = 0; at + PIECE_CHARS <= text.length; at += 1) {
      if (ends[endsOf(text, at)] === 0 || !pieces.has(text.slice(at, at + PIECE_CHARS))) continue;
      if (at > from || from === 0) clean += text.slice(from, at) + HIDDEN;
      from = at + PIECE_CHARS;
    }
    return hideShort(clean + text.slice(from));
  };
}

const endsOf = (text: string, at: number): number =>
  (text.charCodeAt(at) * 31 + text.charCodeAt(at + PIECE_CHARS - 1)) & 0xffff;

/** Returns how texts have the secrets. */
function formsOf(secrets: Iterable<string>): Set<string> {
  const forms = [...secrets].flatMap((secret) => {
    const valid = Buffer.from(secret).toString(); // lone surrogates would be refused
    const inForm = new URLSearchParams([['', valid]]).toString().slice(1);
    return [secret, JSON.stringify(secret).slice(1, -1), encodeURI(valid), encodeURIComponent(valid), inForm];
  });
  return new Set(forms.filter(({ length }) => length >= LEAST_CHARS));
}

/** Returns a copy of a JSON value with other texts and keys. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [change(key), mapTexts(inner, change)]));
}
