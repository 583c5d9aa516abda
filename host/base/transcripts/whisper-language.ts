import { LANGUAGE_NAMES } from './language-names.ts';

/** Further names and codes, as in OpenAI's Whisper, and codes that have replaced those of Whisper. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ...[...LANGUAGE_NAMES].map(([code, name]) => [name, code] as const),
  ...Object.entries({
    burmese: 'my',
    castilian: 'es',
    flemish: 'nl',
    haitian: 'ht',
    letzeburgesch: 'lb',
    mandarin: 'zh',
    moldavian: 'ro',
    moldovan: 'ro',
    panjabi: 'pa',
    pushto: 'ps',
    sinhalese: 'si',
    valencian: 'ca',
    fil: 'tl',
    jv: 'jw',
    nb: 'no',
  }),
]);

/**
 * Returns the code of a language as Whisper knows it: of a code in any case, with a region or a script (`en-US`), of
 * three letters (`eng`), or of an English name. Undefined for `auto` and for no text, which leave the language to the
 * model; null for anything else.
 */
export function whisperLanguage(text: string): string | null | undefined {
  const given = text.trim().toLowerCase();
  if (given === '' || given === 'auto') return undefined;
  const [first = ''] = given.split(/[-_]/);
  return knownCode(given) ?? knownCode(first) ?? knownCode(canonical(first)) ?? null;
}

const knownCode = (text: string): string | undefined => (LANGUAGE_NAMES.has(text) ? text : OTHER_NAMES.get(text));

/** Returns the shortest code of a language, such as `en` for `eng`; a text that is no code as it is. */
function canonical(code: string): string {
  try {
    return new Intl.Locale(code).language;
  } catch {
    return code;
  }
}
