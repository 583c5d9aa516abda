import type { CharSet } from './char-set.ts';

const ESCAPES = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/** Returns a text as a literal of a grammar. */
export const literal = (text: string): string =>
  `"${text.replaceAll(/["\\\p{Cc}]/gu, (char) => ESCAPES.get(char) ?? escaped(char.codePointAt(0)!))}"`;

/** Returns one character of a set. */
export const oneOf = (set: CharSet): string =>
  `[${set.map(([first, last]) => (first === last ? escaped(first) : `${escaped(first)}-${escaped(last)}`)).join('')}]`;

function escaped(point: number): string {
  const char = String.fromCodePoint(point);
  if (/[A-Za-z0-9]/.test(char)) return char;
  const hex = point.toString(16);
  if (point < 0x100) return `\\x${hex.padStart(2, '0')}`;
  return point < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

/** Returns parts in a row. */
export const sequence = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join(' ') || '""';

/** Returns a choice between parts. */
export function choice(parts: readonly string[]): string {
  const different = [...new Set(parts)];
  return different.length === 1 ? different[0]! : `(${different.join(' | ')})`;
}

/** Returns a part that is repeated. */
export function repeated(part: string, min: number, max: number): string {
  if (max === 0) return '""';
  if (min === 1 && max === 1) return part;
  const group = `(${part})`;
  if (min === 0 && max === 1) return `${group}?`;
  if (max === Infinity && min < 2) return `${group}${min === 0 ? '*' : '+'}`;
  return `${group}{${min},${max === Infinity ? '' : max}}`;
}

/** The rules of a grammar. The same text is one rule. */
export class Rules {
  readonly #prefix: string;
  readonly #rules = new Map<string, string>();
  readonly #names = new Map<string, string>();

  /** `prefix` begins the names of all rules. */
  constructor(prefix = '') {
    this.#prefix = prefix;
  }

  /** Returns the name of a rule with this text. */
  add(text: string): string {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const name = this.reserve();
    this.define(name, text);
    return name;
  }

  /** Returns a new name, for a rule that is defined later. */
  reserve(): string {
    const name = `${this.#prefix}r${this.#rules.size}`;
    this.#rules.set(name, '');
    return name;
  }

  define(name: string, text: string): void {
    this.#rules.set(name, text);
    if (!this.#names.has(text)) this.#names.set(text, name);
  }

  /** Defines a rule by its name, without the prefix, if it is not defined. Returns the whole name. */
  named(name: string, text: string | ((name: string) => string)): string {
    const whole = this.#prefix + name;
    if (!this.#rules.has(whole)) {
      this.#rules.set(whole, '');
      this.define(whole, typeof text === 'string' ? text : text(whole));
    }
    return whole;
  }

  /** Returns the grammar, whose text is `root`. */
  grammar(root: string): string {
    return `root ::= ${root}\n${this.text()}`;
  }

  /** Returns the rules without a root. */
  text(): string {
    // Only rules that are no longer used mention a rule that was never defined.
    return [...this.#rules].map(([name, text]) => `${name} ::= ${text || '""'}\n`).join('');
  }
}
