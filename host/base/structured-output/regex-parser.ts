import { ANYTHING, type CharSet, charsOf, complement, NOTHING, one, union } from './char-set.ts';
import { refuse } from './refusal.ts';

/** The texts that a regular expression matches. */
export type Regex =
  | { readonly kind: 'set'; readonly set: CharSet }
  | { readonly kind: 'sequence'; readonly parts: readonly Regex[] }
  | { readonly kind: 'choice'; readonly options: readonly Regex[] }
  | { readonly kind: 'repeat'; readonly part: Regex; readonly min: number; readonly max: number };

const MOST_CHARS = 16_384;
const MOST_NESTING = 100;
const MOST_REPETITIONS = 100_000;

const DIGIT: CharSet = [[0x30, 0x39]];
const WORD: CharSet = union(DIGIT, [[0x41, 0x5a]], [[0x5f, 0x5f]], [[0x61, 0x7a]]);
const SPACE: CharSet = union(
  charsOf(' \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff'),
  [[0x09, 0x0d]],
  [[0x2000, 0x200a]],
);
const LINE_END = charsOf('\n\r\u2028\u2029');
const CLASSES = new Map<string, CharSet>([
  ['d', DIGIT],
  ['D', complement(DIGIT)],
  ['w', WORD],
  ['W', complement(WORD)],
  ['s', SPACE],
  ['S', complement(SPACE)],
]);
const CONTROLS = new Map([
  ['t', 9],
  ['n', 10],
  ['v', 11],
  ['f', 12],
  ['r', 13],
]);

const EMPTY: Regex = { kind: 'sequence', parts: [] };
const ANY_TEXT: Regex = { kind: 'repeat', part: { kind: 'set', set: ANYTHING }, min: 0, max: Infinity };

/**
 * Parses a regular expression of JavaScript. Throws `UnusableStructure` for what no grammar can express: looks around,
 * back references, word boundaries, and `^` or `$` inside of the expression.
 *
 * With `isWhole`, the expression matches a whole text. Otherwise it is searched in a text, as a `pattern` of a JSON
 * Schema, so other text may surround it where it is not anchored.
 */
export function parseRegex(source: string, at: string, isWhole: boolean): Regex {
  if (source.length > MOST_CHARS) refuse(at, `the pattern has more than ${MOST_CHARS} characters`);
  const problem = problemOf(source, 'u') && problemOf(source, ''); // some have an escape that `u` forbids
  if (problem !== undefined) refuse(at, problem);
  return new Parser(source, at, isWhole).parse();
}

function problemOf(source: string, flags: string): string | undefined {
  try {
    RegExp(source, flags);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

class Parser {
  readonly #chars: readonly string[];
  readonly #where: string;
  readonly #isWhole: boolean;
  #at = 0;
  #nesting = 0;

  constructor(source: string, at: string, isWhole: boolean) {
    this.#chars = Array.from(source);
    this.#where = at;
    this.#isWhole = isWhole;
  }

  parse(): Regex {
    const parsed = this.#choice(true);
    if (this.#at < this.#chars.length) this.#refuse('an unexpected )');
    return parsed;
  }

  get #next(): string | undefined {
    return this.#chars[this.#at];
  }

  #take(text: string): boolean {
    const isNext = this.#chars.slice(this.#at, this.#at + text.length).join('') === text;
    if (isNext) this.#at += text.length;
    return isNext;
  }

  #refuse(what: string): never {
    return refuse(this.#where, `the pattern has ${what}, which no grammar can express`);
  }

  #choice(isOuter: boolean): Regex {
    if (++this.#nesting > MOST_NESTING) refuse(this.#where, `groups are nested more than ${MOST_NESTING} deep`);
    const options: Regex[] = [];
    do options.push(isOuter ? this.#anchored() : this.#sequence());
    while (this.#take('|'));
    this.#nesting -= 1;
    return options.length === 1 ? options[0]! : { kind: 'choice', options };
  }

  /** An alternative of the whole expression, which may begin with `^` and end with `$`. */
  #anchored(): Regex {
    const isAtStart = this.#take('^') || this.#isWhole;
    const body = this.#sequence();
    const isAtEnd = this.#take('$') || this.#isWhole;
    const isEnded = this.#next === undefined || this.#next === '|' || this.#next === ')';
    if (!isEnded) this.#refuse('$ inside of it');
    return { kind: 'sequence', parts: [isAtStart ? EMPTY : ANY_TEXT, body, isAtEnd ? EMPTY : ANY_TEXT] };
  }

  #sequence(): Regex {
    const parts: Regex[] = [];
    for (let next = this.#next; next !== undefined && next !== '|' && next !== ')'; next = this.#next) {
      if (next === '$' && this.#nesting === 1) break;
      parts.push(this.#quantified(this.#atom()));
    }
    return parts.length === 1 ? parts[0]! : { kind: 'sequence', parts };
  }

  #quantified(part: Regex): Regex {
    const bounds = this.#bounds();
    if (!bounds) return part;
    this.#take('?'); // how much it takes makes no difference to what is matched
    const [min, max] = bounds;
    if (min > MOST_REPETITIONS || (max !== Infinity && max > MOST_REPETITIONS))
      refuse(this.#where, `the pattern repeats a part more than ${MOST_REPETITIONS} times`);
    return { kind: 'repeat', part, min, max };
  }

  #bounds(): readonly [min: number, max: number] | undefined {
    if (this.#take('*')) return [0, Infinity];
    if (this.#take('+')) return [1, Infinity];
    if (this.#take('?')) return [0, 1];
    const match = /^\{(\d+)(,?)(\d*)\}/.exec(this.#chars.slice(this.#at, this.#at + 24).join(''));
    if (!match) return undefined;
    this.#at += match[0].length;
    const min = Number(match[1]);
    return [min, match[2] === '' ? min : match[3] === '' ? Infinity : Number(match[3])];
  }

  #atom(): Regex {
    const char = this.#next!;
    this.#at += 1;
    switch (char) {
      case '(':
        return this.#group();
      case '[':
        return { kind: 'set', set: this.#class() };
      case '.':
        return { kind: 'set', set: complement(LINE_END) };
      case '^':
      case '$':
        return this.#refuse(`${char} inside of it`);
      case '\\':
        return { kind: 'set', set: this.#escape(false) };
      default:
        return { kind: 'set', set: one(char.codePointAt(0)!) };
    }
  }

  #group(): Regex {
    if (this.#take('?')) {
      if (this.#take('<=') || this.#take('<!')) this.#refuse('a lookbehind');
      if (this.#take('=') || this.#take('!')) this.#refuse('a lookahead');
      if (this.#take('<')) while (this.#next !== undefined && !this.#take('>')) this.#at += 1;
      else if (!this.#take(':')) this.#refuse('flags in a group');
    }
    const group = this.#choice(false);
    if (!this.#take(')')) refuse(this.#where, 'a group of the pattern has no end');
    return group;
  }

  #class(): CharSet {
    const isNegated = this.#take('^');
    let set: CharSet = NOTHING;
    while (!this.#take(']')) {
      const first = this.#classAtom();
      const isRange =
        this.#next === '-' && this.#chars[this.#at + 1] !== ']' && first.length === 1 && first[0]![0] === first[0]![1];
      if (!isRange) {
        set = union(set, first);
        continue;
      }
      this.#at += 1;
      const last = this.#classAtom();
      if (last.length !== 1 || last[0]![0] !== last[0]![1]) set = union(set, first, one(0x2d), last);
      else set = union(set, [[first[0]![0], last[0]![1]]]);
    }
    // Surrogates between the ends of a range are no characters.
    const chars = complement(complement(set));
    return isNegated ? complement(chars) : chars;
  }

  #classAtom(): CharSet {
    if (this.#take('\\')) return this.#escape(true);
    const char = this.#next ?? refuse(this.#where, 'a set of characters of the pattern has no end');
    this.#at += 1;
    return one(char.codePointAt(0)!);
  }

  #escape(inClass: boolean): CharSet {
    const char = this.#next ?? refuse(this.#where, 'the pattern ends with \\');
    this.#at += 1;
    const known = CLASSES.get(char);
    if (known) return known;
    const control = CONTROLS.get(char);
    if (control !== undefined) return one(control);
    if (char === 'b' && inClass) return one(8);
    if (char === 'b' || char === 'B') this.#refuse(`\\${char}`);
    if (char === 'x') return one(this.#hex(2));
    if (char === 'u') return one(this.#unicode());
    if (char === 'c' || char === 'p' || char === 'P') this.#refuse(`\\${char}`);
    if (char === '0' && !/\d/.test(this.#next ?? '')) return NOTHING; // no text has U+0000
    if (char === 'k' || /\d/.test(char)) this.#refuse('a back reference');
    return one(char.codePointAt(0)!);
  }

  #hex(digits: number): number {
    const text = this.#chars.slice(this.#at, this.#at + digits).join('');
    if (!new RegExp(`^[0-9a-fA-F]{${digits}}$`).test(text))
      refuse(this.#where, 'an escape of the pattern is not hexadecimal');
    this.#at += digits;
    return Number.parseInt(text, 16);
  }

  #unicode(): number {
    if (this.#take('{')) {
      const end = this.#chars.indexOf('}', this.#at);
      return this.#hexBefore(end);
    }
    const high = this.#hex(4);
    const isHigh = high >= 0xd800 && high < 0xdc00;
    if (isHigh && this.#take('\\u')) return String.fromCharCode(high, this.#hex(4)).codePointAt(0)!;
    if (high >= 0xd800 && high <= 0xdfff) this.#refuse('half of a surrogate pair');
    return high;
  }

  #hexBefore(end: number): number {
    const point = this.#hex(Math.max(1, end - this.#at));
    this.#at += 1;
    return point;
  }
}

/** Returns the least and the most characters of the texts that match. */
export function lengthsOf(regex: Regex): readonly [min: number, max: number] {
  switch (regex.kind) {
    case 'set':
      return [1, 1];
    case 'sequence': {
      const lengths = regex.parts.map(lengthsOf);
      return [sum(lengths.map(([min]) => min)), sum(lengths.map(([, max]) => max))];
    }
    case 'choice': {
      const lengths = regex.options.map(lengthsOf);
      return [Math.min(...lengths.map(([min]) => min)), Math.max(...lengths.map(([, max]) => max))];
    }
    case 'repeat': {
      const [min, max] = lengthsOf(regex.part);
      return [min * regex.min, max === 0 || regex.max === 0 ? 0 : max * regex.max];
    }
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
