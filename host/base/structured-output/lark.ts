import { refuse } from './refusal.ts';

/** Characters of a regular expression that a grammar may become. */
const MOST_CHARS = 16_384;
/** Groups inside of each other, and names that stand for each other. */
const MOST_NESTING = 50;

/** Terminals that `%import common.NAME` gives. */
const COMMON = new Map([
  ['CNAME', '[_A-Za-z][_A-Za-z0-9]*'],
  ['CR', '\\r'],
  ['DECIMAL', '(?:[0-9]+\\.[0-9]*|\\.[0-9]+)'],
  ['DIGIT', '[0-9]'],
  ['ESCAPED_STRING', '"(?:[^"\\\\\\n]|\\\\.)*"'],
  ['HEXDIGIT', '[0-9A-Fa-f]'],
  ['INT', '[0-9]+'],
  ['LCASE_LETTER', '[a-z]'],
  ['LETTER', '[A-Za-z]'],
  ['LF', '\\n'],
  ['NEWLINE', '(?:\\r?\\n)+'],
  ['NUMBER', '[0-9]+(?:\\.[0-9]*)?(?:[eE][-+]?[0-9]+)?'],
  ['SIGNED_INT', '[-+]?[0-9]+'],
  ['SIGNED_NUMBER', '[-+]?[0-9]+(?:\\.[0-9]*)?(?:[eE][-+]?[0-9]+)?'],
  ['UCASE_LETTER', '[A-Z]'],
  ['WORD', '[A-Za-z]+'],
  ['WS', '[ \\t\\f\\r\\n]+'],
  ['WS_INLINE', '[ \\t]+'],
]);

const TOKENS = [
  ['space', /\s+|(?:\/\/|#)[^\n]*/y],
  ['directive', /%\w+/y],
  ['head', /[?!]*\w+(?:\.-?\d+)?\s*:/y],
  ['name', /[_a-zA-Z]\w*/y],
  ['text', /"(?:[^"\\\n]|\\.)*"i?/y],
  ['pattern', /\/(?:[^/\\\n]|\\.)+\/[a-z]*/y],
  ['count', /\d+/y],
  ['mark', /->|\.\.|[|*+?()[\]~.,]/y],
] as const;

type Kind = Exclude<(typeof TOKENS)[number][0], 'space'>;

interface Token {
  readonly kind: Kind;
  readonly text: string;
}

/**
 * Returns a regular expression for the texts of a grammar in Lark's language. Throws `UnusableStructure`, which names
 * the place, for a grammar that is not valid or that no regular expression can express, such as one whose rules contain
 * themselves.
 */
export function larkRegex(definition: string, at: string): string {
  if (definition.length > MOST_CHARS) refuse(at, `the grammar has more than ${MOST_CHARS} characters`);
  return new Lark(at, tokensOf(definition, at)).regexOf('start');
}

function tokensOf(source: string, at: string): Token[] {
  const tokens: Token[] = [];
  for (let index = 0; index < source.length;) {
    const found = TOKENS.map(([kind, form]) => {
      form.lastIndex = index;
      return { kind, text: form.exec(source)?.[0] };
    }).find(({ text }) => text !== undefined);
    if (found?.text === undefined) {
      const line = source.slice(0, index).split('\n').length;
      return refuse(at, `line ${line} of the grammar is not understood at ${JSON.stringify(source[index])}`);
    }
    index += found.text.length;
    if (found.kind !== 'space') tokens.push({ kind: found.kind, text: found.text });
  }
  return tokens;
}

/** Replaces names by what they stand for until a regular expression is left. */
class Lark {
  readonly #where: string;
  /** What each name stands for. */
  readonly #bodies = new Map<string, readonly Token[]>();
  /** Expressions of the names that were replaced. */
  readonly #regexes = new Map<string, string>();
  /** Names that are being replaced. */
  readonly #open = new Set<string>();

  constructor(where: string, tokens: readonly Token[]) {
    this.#where = where;
    for (let index = 0; index < tokens.length;) {
      const { kind, text } = tokens[index]!;
      let end = index + 1;
      while (end < tokens.length && tokens[end]!.kind !== 'head' && tokens[end]!.kind !== 'directive') end += 1;
      const body = tokens.slice(index + 1, end);
      if (kind === 'head') this.#define(/\w+/.exec(text)![0], body);
      else if (text === '%import') this.#import(body.map((token) => token.text).join(' '));
      else this.#refuse(`${text} is not supported`);
      index = end;
    }
  }

  /** Returns the expression of a name. */
  regexOf(name: string): string {
    const known = this.#regexes.get(name);
    if (known !== undefined) return known;
    const body = this.#bodies.get(name);
    if (!body) return this.#refuse(`it has no rule ${name}`);
    if (this.#open.has(name)) this.#refuse(`the rule ${name} contains itself, which is not supported`);
    this.#open.add(name);
    if (this.#open.size > MOST_NESTING) this.#refuse(`more than ${MOST_NESTING} names stand for each other`);
    const regex = new Expression(body, (inner) => this.regexOf(inner), this.#where, name).whole();
    this.#open.delete(name);
    this.#regexes.set(name, regex);
    return regex;
  }

  #define(name: string, body: readonly Token[]): void {
    if (this.#bodies.has(name) || this.#regexes.has(name)) this.#refuse(`it has two rules ${name}`);
    this.#bodies.set(name, body);
  }

  /** Imports `common . A -> B`, or `common . ( A , B )`. */
  #import(what: string): void {
    const one = /^common \. (\w+)(?: -> (\w+))?$/.exec(what);
    const many = /^common \. ?\( ?([\w ,]+?) ?\)$|^common \( ?([\w ,]+?) ?\)$/.exec(what);
    const names = one ? [one[1]!] : (many?.[1] ?? many?.[2])?.split(/[ ,]+/);
    if (!names) return this.#refuse(`%import ${what.slice(0, 64)} is not supported`);
    for (const name of names) {
      const regex = COMMON.get(name) ?? this.#refuse(`%import common.${name.slice(0, 64)} is not supported`);
      this.#regexes.set(one?.[2] ?? name, regex);
    }
  }

  #refuse(problem: string): never {
    return refuse(this.#where, `in the grammar, ${problem}`);
  }
}

/** What a name stands for, while it is read. */
class Expression {
  readonly #tokens: readonly Token[];
  readonly #regexOf: (name: string) => string;
  readonly #where: string;
  readonly #name: string;
  #at = 0;
  #nesting = 0;

  constructor(tokens: readonly Token[], regexOf: (name: string) => string, where: string, name: string) {
    this.#tokens = tokens;
    this.#regexOf = regexOf;
    this.#where = where;
    this.#name = name;
  }

  whole(): string {
    const regex = this.#choice();
    if (this.#next) this.#refuse(`${JSON.stringify(this.#next.text)} is unexpected`);
    return regex;
  }

  get #next(): Token | undefined {
    return this.#tokens[this.#at];
  }

  #take(text: string): boolean {
    const isNext = this.#next?.kind === 'mark' && this.#next.text === text;
    if (isNext) this.#at += 1;
    return isNext;
  }

  #choice(): string {
    if (++this.#nesting > MOST_NESTING) this.#refuse(`groups are nested more than ${MOST_NESTING} deep`);
    let regex = this.#sequence();
    let options = 1;
    for (; this.#take('|'); options += 1) regex = this.#bounded(`${regex}|${this.#sequence()}`);
    this.#nesting -= 1;
    return options === 1 ? regex : `(?:${regex})`;
  }

  #sequence(): string {
    let regex = '';
    for (let next = this.#next; next && !'|)]'.includes(next.text); next = this.#next) {
      if (this.#take('->')) this.#at += 1; // the name of an alternative
      else regex = this.#bounded(regex + this.#counted(this.#atom()));
    }
    return regex;
  }

  #counted(regex: string): string {
    const [sign, isTaken] = [this.#next?.text ?? '', this.#take('*') || this.#take('+') || this.#take('?')];
    if (isTaken) return grouped(regex) + sign;
    if (!this.#take('~')) return regex;
    const least = this.#count();
    return `${grouped(regex)}{${this.#take('..') ? `${least},${this.#count()}` : least}}`;
  }

  #count(): string {
    const { kind, text } = this.#next ?? {};
    if (kind !== 'count' || text === undefined) return this.#refuse('a number is missing behind ~');
    this.#at += 1;
    return text;
  }

  #atom(): string {
    const token = this.#next!;
    this.#at += 1;
    if (token.kind === 'name') return this.#regexOf(token.text);
    if (token.kind === 'text') return this.#textOrRange(token.text);
    if (token.kind === 'pattern') return this.#pattern(token.text);
    const end = { '(': ')', '[': ']' }[token.text];
    if (token.kind !== 'mark' || end === undefined) this.#refuse(`${JSON.stringify(token.text)} is unexpected`);
    const inner = this.#choice();
    if (!this.#take(end!)) this.#refuse(`${end} is missing`);
    return token.text === '(' ? inner : `${grouped(inner)}?`;
  }

  #textOrRange(quoted: string): string {
    const text = this.#textOf(quoted);
    if (!this.#take('..')) return Array.from(text, quoted.endsWith('i') ? anyCase : literal).join('');
    const other = this.#next;
    this.#at += 1;
    const last = other?.kind === 'text' ? this.#textOf(other.text) : '';
    if (Array.from(text).length !== 1 || Array.from(last).length !== 1)
      this.#refuse('a range is not between two characters');
    return `[${inClass(text)}-${inClass(last)}]`;
  }

  #textOf(quoted: string): string {
    const json = quoted.replace(/i$/, '').replaceAll(/\\(x|.)/g, (all, char: string) => (char === 'x' ? '\\u00' : all));
    try {
      return JSON.parse(json) as string;
    } catch {
      return this.#refuse(`${quoted.slice(0, 64)} is not a text`);
    }
  }

  #pattern(written: string): string {
    const end = written.lastIndexOf('/');
    if (end < written.length - 1) this.#refuse(`the pattern ${written.slice(0, 64)} has flags, which is not supported`);
    return `(?:${written.slice(1, end)})`;
  }

  #bounded(regex: string): string {
    return regex.length > MOST_CHARS ? this.#refuse(`it stands for more than ${MOST_CHARS} characters`) : regex;
  }

  #refuse(problem: string): never {
    return refuse(this.#where, `in the rule ${this.#name.slice(0, 64)} of the grammar, ${problem}`);
  }
}

/** Returns an expression to which a repetition can be added. */
const grouped = (regex: string): string =>
  /^(?:\\?.|\[(?:[^\]\\]|\\.)*\]|\(\?:[^()]*\))$/su.test(regex) ? regex : `(?:${regex})`;

const CONTROLS: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };
const literal = (char: string): string => CONTROLS[char] ?? char.replace(/[\\^$.*+?()[\]{}|]/, String.raw`\$&`);
const inClass = (char: string): string => CONTROLS[char] ?? char.replace(/[\\\]^-]/, String.raw`\$&`);
const anyCase = (char: string): string =>
  /[a-z]/i.test(char) ? `[${char.toLowerCase()}${char.toUpperCase()}]` : literal(char);
