import { RE2JS } from 're2js';
import * as z from 'zod';
import { Budget } from './budget.ts';

/** Most instructions of a compiled pattern. In the worst case each character costs the time of all instructions. */
const MOST_INSTRUCTIONS = 3_000;
const MOST_CHARS = 4_096;
/** Steps for each text, even if it is empty. */
const BASE_STEPS = { regExp: 5, re2: 100 } as const;
/** Characters that a usual pattern reads in one step. */
const CHARS_PER_STEP = 4;
/** Instructions that add one step for each character. */
const INSTRUCTIONS_PER_STEP = 64;

/**
 * A pattern of a JSON Schema: a JavaScript regular expression with the flag `u`, matched anywhere in a text in time
 * linear in its length. `RegExp` backtracks, which takes years for `^(a+)+$` and forty letters.
 */
export class LinearPattern {
  /** The pattern as `RegExp` prints it: `/^a$/`. */
  readonly source: string;
  readonly #matcher: { test(text: string): boolean };
  readonly #baseSteps: number;
  readonly #stepsPerChar: number;

  /** Throws an error that names the part of the pattern that cannot be matched in linear time. */
  constructor(pattern: string) {
    if (pattern.length > MOST_CHARS) throw new Error(`it has more than ${MOST_CHARS} characters`);
    this.source = String(new RegExp(pattern)); // throws for an invalid pattern
    const simple = knownPattern(pattern) ?? simplePattern(pattern);
    const matcher = simple ? undefined : compiled(pattern);
    this.#matcher = simple ?? matcher!;
    this.#baseSteps = simple ? BASE_STEPS.regExp : BASE_STEPS.re2;
    this.#stepsPerChar = 1 / CHARS_PER_STEP + (matcher?.programSize() ?? 0) / INSTRUCTIONS_PER_STEP;
  }

  test(text: string, budget: Budget): boolean {
    budget.spend(this.#baseSteps + Math.ceil(text.length * this.#stepsPerChar));
    return this.#matcher.test(text);
  }
}

/** Returns whether a text matches; undefined if the pattern cannot be matched in linear time. */
export function matchesPattern(pattern: string, text: string): boolean | undefined {
  try {
    return new LinearPattern(pattern).test(text, new Budget());
  } catch {
    return undefined;
  }
}

function compiled(pattern: string): RE2JS {
  let matcher: RE2JS;
  try {
    matcher = RE2JS.compile(inRe2(pattern));
  } catch (cause) {
    if (!(cause instanceof Error) || cause.name === 'NotLinear') throw cause;
    throw new Error(`it cannot be matched in linear time (${cause.message.replace(/^error parsing regexp: /, '')})`, {
      cause,
    });
  }
  const instructions = matcher.programSize();
  if (instructions > MOST_INSTRUCTIONS)
    throw new Error(
      `it is too large: its repetitions make ${instructions} instructions, but only ${MOST_INSTRUCTIONS} are allowed`,
    );
  return matcher;
}

/** Patterns that zod writes into a JSON Schema for its formats. Some have look-aheads; all of them are linear. */
const KNOWN = new Map(
  Object.values(z.core.regexes).flatMap((known) => (known instanceof RegExp ? [[known.source, known] as const] : [])),
);

function knownPattern(pattern: string): RegExp | undefined {
  const known = KNOWN.get(pattern);
  return known && new RegExp(known.source, known.flags);
}

const CHARACTER = String.raw`(?:\[dDwWsS]|\[^\w\s]|\[\^?(?:[^\\[\]]|\[dDwWsS]|\[^\w\s])+\]|[^\^$.*+?()\[\]{}|]|\.)`;
const FIXED = String.raw`${CHARACTER}(?:\{\d\d?\})?`;
const SIMPLE = new RegExp(
  String.raw`^\^(?:${FIXED}){0,8}(?:${CHARACTER}(?:[*+?]|\{\d{1,5}(?:,\d{0,5})?\}))?(?:${FIXED}){0,8}\$?$`,
);

/**
 * Returns the pattern as a `RegExp` if that is linear, too, and an order of magnitude faster for short texts: it is
 * anchored at the start, and at most one character repeats without a fixed count, so that backtracking is limited.
 */
function simplePattern(pattern: string): RegExp | undefined {
  if (pattern.length > 200 || !SIMPLE.test(pattern)) return undefined;
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return undefined; // it escapes a character that needs no escape, which the flag `u` forbids
  }
}

class NotLinear extends Error {
  override readonly name = 'NotLinear';
  constructor(what: string) {
    super(`it has ${what}, which cannot be matched in linear time`);
  }
}

/** JavaScript's white space, which differs from that of RE2. */
const SPACE = String.raw`\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`;
const NO_SPACE =
  String.raw`\x{0}-\x{8}\x{e}-\x{1f}!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}` +
  String.raw`\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`;
const ANY = String.raw`[\x{0}-\x{10ffff}]`;
const NONE = String.raw`[^\x{0}-\x{10ffff}]`;

/** Tokens at the start of the rest of a pattern. The first match counts. */
const TOKENS: readonly (readonly [token: RegExp, write: (match: RegExpExecArray, inClass: boolean) => string])[] = [
  [
    /^\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})/,
    ([, high, low]) => code(String.fromCharCode(Number.parseInt(high!, 16), Number.parseInt(low!, 16)).codePointAt(0)!),
  ],
  [/^\\u\{([0-9a-fA-F]+)\}/, ([, hex]) => code(Number.parseInt(hex!, 16))],
  [/^\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))/, ([, four, two]) => code(Number.parseInt(four ?? two!, 16))],
  [/^\\c([A-Za-z])/, ([, letter]) => code(letter!.charCodeAt(0) % 32)],
  [/^\\0(?![0-9])/, () => code(0)],
  [/^\\([tnvfr])/, ([, letter]) => code({ t: 9, n: 10, v: 11, f: 12, r: 13 }[letter as 't'])],
  [/^\\[dDwW]/, ([same]) => same],
  [/^\\s/, (_, inClass) => (inClass ? SPACE : `[${SPACE}]`)],
  [/^\\S/, (_, inClass) => (inClass ? NO_SPACE : `[${NO_SPACE}]`)],
  [/^\\b/, (_, inClass) => (inClass ? code(8) : String.raw`\b`)],
  [/^\\B/, (_, inClass) => (inClass ? 'B' : String.raw`\B`)],
  [/^\\[pP]\{[^}]*\}/, ([same]) => same],
  [/^\\(?:[1-9]|k<)/, () => refuse('a back reference')],
  [/^\\([\s\S])/u, ([, same]) => code(same!.codePointAt(0)!)],
];
/** Tokens outside of character classes. */
const OUTER: typeof TOKENS = [
  ...TOKENS,
  [/^\(\?<?[=!]/, ([start]) => refuse(`a look${start.includes('<') ? 'behind' : 'ahead'} (${start}…))`)],
  [/^\(\?(?:<[^>]*>|:)/, () => '(?:'],
  [/^\((?!\?)/, () => '(?:'],
  [/^\[\^\]/, () => ANY],
  [/^\[\]/, () => NONE],
  [/^\./, () => String.raw`[^\n\r\x{2028}\x{2029}]`],
  [/^\{\d+(?:,\d*)?\}/, ([same]) => same],
  [/^\{/, () => String.raw`\{`],
];

/** Returns the pattern in the syntax of RE2. */
function inRe2(pattern: string): string {
  let written = '';
  let inClass = false;
  for (let rest = pattern; rest !== '';) {
    const [read, text] = next(rest, inClass);
    if (text === '[' || text === '[^') inClass = true;
    else if (inClass && read === ']') inClass = false;
    written += text;
    rest = rest.slice(read.length);
  }
  return written;
}

function next(rest: string, inClass: boolean): readonly [read: string, text: string] {
  for (const [token, write] of inClass ? TOKENS : OUTER) {
    const match = token.exec(rest);
    if (match) return [match[0], write(match, inClass)];
  }
  if (!inClass && rest.startsWith('[')) return rest.startsWith('[^') ? ['[^', '[^'] : ['[', '['];
  if (inClass && rest.startsWith('[')) return ['[', String.raw`\[`];
  const character = String.fromCodePoint(rest.codePointAt(0)!);
  return [character, character];
}

const code = (point: number): string => `\\x{${point.toString(16)}}`;

function refuse(what: string): never {
  throw new NotLinear(what);
}
