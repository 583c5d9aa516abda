import { charsOf, has, without } from './char-set.ts';
import { choice, literal, oneOf, repeated, type Rules, sequence } from './gbnf.ts';
import { PLAIN } from './regex-grammar.ts';

/** A property of an object to make. */
export interface Property {
  readonly name: string;
  readonly isRequired: boolean;
  /** The values, as a part of a grammar. */
  readonly value: string;
}

export interface ObjectParts {
  /** In the order in which they come. */
  readonly properties: readonly Property[];
  /** Names that no other property may have. */
  readonly taken: readonly string[];
  /** The values of other properties, which come last; undefined: there are none. */
  readonly others?: { readonly value: string; readonly min: number; readonly max: number } | undefined;
}

/** Returns objects as a part of a grammar. `ws` is white space. */
export function objectGrammar(rules: Rules, { properties, taken, others }: ObjectParts, ws: string): string {
  const pair = (key: string, value: string): string => sequence(key, '":"', ws, value);
  const other = others && others.max > 0 ? rules.add(pair(otherKey(rules, taken), others.value)) : undefined;
  const comma = sequence('","', ws);
  const more = (min: number, max: number): string =>
    other === undefined ? '' : repeated(sequence(comma, other), Math.max(0, min), max);
  // What may follow when nothing came before, and when something did. From the last property backwards.
  let [first, next] = ['', ''];
  if (other !== undefined) {
    const { min, max } = others!;
    const some = sequence(other, more(min - 1, max - 1));
    [first, next] = [min === 0 ? `(${some})?` : some, more(min, max)];
  }
  for (const { name, isRequired, value } of properties.toReversed()) {
    const own = rules.add(pair(literal(JSON.stringify(name)), value));
    const [asFirst, asNext] = [sequence(own, next), sequence(comma, own, next)];
    first = rules.add(isRequired ? asFirst : choice([asFirst, first === '' ? '""' : first]));
    next = rules.add(isRequired ? asNext : choice([asNext, next === '' ? '""' : next]));
  }
  if (first === '') return '"{" ws "}"'.replace('ws', ws);
  return sequence('"{"', ws, first, ws, '"}"');
}

/**
 * Returns a key that is none of the taken names. It has no escapes: with escapes, the same name could be written in
 * several ways. So names that need an escape cannot come.
 */
function otherKey(rules: Rules, taken: readonly string[]): string {
  const tree: KeyTree = { ends: false, next: new Map() };
  const isPlain = (name: string): boolean => Array.from(name).every((char) => has(PLAIN, char.codePointAt(0)!));
  for (const name of taken.filter(isPlain)) {
    let node = tree;
    for (const char of name) {
      const next: KeyTree = node.next.get(char) ?? { ends: false, next: new Map() };
      node.next.set(char, next);
      node = next;
    }
    node.ends = true;
  }
  const anything = rules.named('plain', oneOf(PLAIN));
  return sequence('"\\""', keyBeside(rules, tree, anything), '"\\""');
}

interface KeyTree {
  ends: boolean;
  readonly next: Map<string, KeyTree>;
}

function keyBeside(rules: Rules, { ends, next }: KeyTree, anything: string): string {
  if (next.size === 0) return repeated(anything, ends ? 1 : 0, Infinity);
  const elsewhere = sequence(
    oneOf(without(PLAIN, charsOf([...next.keys()].join('')))),
    repeated(anything, 0, Infinity),
  );
  const options = [...next].map(([char, node]) => sequence(literal(char), keyBeside(rules, node, anything)));
  return rules.add(choice([elsewhere, ...options, ...(ends ? [] : ['""'])]));
}
