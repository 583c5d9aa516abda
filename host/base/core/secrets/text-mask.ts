/** What replaces a secret in a text. */
export const HIDDEN = '…';
/** Shorter secrets are not searched for, because they occur everywhere. */
const LEAST_CHARS = 4;
/** Shorter secrets are hidden only where no letter and no digit adjoins, because words contain them. */
const LEAST_INSIDE = 8;
/** So many characters of a secret are hidden also where the others are missing. */
const PIECE_CHARS = 12;

/**
 * Returns a function that replaces secrets in a text, also where they are written as in JSON, in a URL, in base64 or in
 * hexadecimal digits. Secrets of less than four characters stay, and those of less than eight inside of words.
 */
export function textMask(secrets: Iterable<string>): (text: string) => string {
  return formMask(formsOf(secrets));
}

function formMask(forms: Iterable<string>): (text: string) => string {
  const longestFirst = [...forms]
    .sort((a, b) => b.length - a.length)
    .map((form): string | RegExp => (form.length < LEAST_INSIDE ? asWord(form) : form));
  return (text) => longestFirst.reduce<string>((clean, form) => clean.replaceAll(form as string, HIDDEN), text);
}

/** Returns a pattern that finds a text where it is not a part of a word. */
function asWord(text: string): RegExp {
  const isIn = (end: RegExp): boolean => end.test(text);
  const before = isIn(/^[\p{L}\p{N}]/u) ? '(?<![\\p{L}\\p{N}])' : '';
  const after = isIn(/[\p{L}\p{N}]$/u) ? '(?![\\p{L}\\p{N}])' : '';
  return new RegExp(before + text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&') + after, 'gu');
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
  const hideShort = formMask(short);
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
    if (secret.length < LEAST_CHARS) return [];
    const valid = Buffer.from(secret).toString(); // lone surrogates would be refused
    const inForm = new URLSearchParams([['', valid]]).toString().slice(1);
    const inUrls = [encodeURI(valid), encodeURIComponent(valid), inForm];
    return [secret, ...jsonForms(secret), ...inUrls, ...inUrls.map(lowerPercents), ...byteForms(Buffer.from(valid))];
  });
  return new Set(forms);
}

const lowerPercents = (text: string): string => text.replaceAll(/%[\dA-F]{2}/g, (byte) => byte.toLowerCase());

/** Returns how JSON has a text: as JavaScript, Go, PHP and Python write it, and JSON inside of JSON. */
function jsonForms(text: string): string[] {
  const asJson = (inner: string): string => JSON.stringify(inner).slice(1, -1);
  const escaped = (inner: string, chars: RegExp): string =>
    inner.replaceAll(chars, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const json = asJson(text);
  return [
    ...[json, json.replaceAll('/', String.raw`\/`), escaped(json, /[<>&\u2028\u2029]/g)],
    ...[escaped(json, /[^\0-\x7f]/g), asJson(json)],
  ];
}

/**
 * Returns bytes as hexadecimal digits, and as they stand in base64 after any number of other bytes: without the
 * characters that also depend on their neighbours. Forms that are too short to be told from other texts are left out.
 */
function byteForms(bytes: Buffer): string[] {
  const hex = bytes.toString('hex');
  const base64 = [0, 1, 2].map((before) => {
    const bits = 8 * (before + bytes.length);
    return Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .slice(Math.ceil((8 * before) / 6), Math.floor(bits / 6));
  });
  const inUrls = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  return [hex, hex.toUpperCase(), ...base64, ...inUrls].filter(({ length }) => length >= LEAST_INSIDE);
}

/** Returns a copy of a JSON value with other texts and keys. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [change(key), mapTexts(inner, change)]));
}
