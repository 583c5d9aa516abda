import { ANYTHING, type CharSet, charsOf, common, has, union, without } from './char-set.ts';
import { choice, literal, oneOf, repeated, sequence } from './gbnf.ts';
import type { Regex } from './regex-parser.ts';

const CONTROLS: CharSet = [[0, 0x1f]];
/** Characters that stand for themselves in a string of JSON. */
export const PLAIN: CharSet = without(ANYTHING, union(CONTROLS, charsOf('"\\')));
/** Characters that have a short escape in a string of JSON. */
const SHORT_ESCAPES = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/** Returns a character of a set as it is. */
const asText = (set: CharSet): string => oneOf(set);

/** Returns a character of a set as it is written inside of a string of JSON. */
export function inJson(set: CharSet): string {
  const plain = common(set, PLAIN);
  const escapes = [...SHORT_ESCAPES].filter(([char]) => has(set, char.codePointAt(0)!));
  const options = escapes.map(([, text]) => literal(text));
  return choice(plain.length > 0 || options.length === 0 ? [oneOf(plain), ...options] : options);
}

/** Returns the texts that an expression matches, as a part of a grammar; with `isJson`, inside of a string of JSON. */
export function regexGrammar(regex: Regex, isJson: boolean): string {
  const write = (part: Regex): string => regexGrammar(part, isJson);
  switch (regex.kind) {
    case 'set':
      return isJson ? inJson(regex.set) : asText(regex.set);
    case 'sequence':
      return sequence(...regex.parts.map(write));
    case 'choice':
      return choice(regex.options.map(write));
    case 'repeat':
      return repeated(write(regex.part), regex.min, regex.max);
  }
}
