import { type AanaError, fail } from '../../../../base/core/errors.ts';
import type { Value } from '../../database.ts';
import type { MetadataValue, VectorFilter } from '../../../../base/schemas/vectors/vector-filter.ts';
import { checkUnicode } from '../../errors.ts';

/** A condition in SQL. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** What a condition is about. */
export interface Subject {
  /** The SQL of the id of a chunk. */
  readonly chunk: string;
  /** The id of the collection. */
  readonly collection: number;
  /** The number of the first parameter of the condition. */
  readonly first: number;
}

const MOST_DEPTH = 8;
const MOST_CONDITIONS = 100;
const MOST_VALUES = 1000;
const ORDER = new Map([
  ['gt', '>'],
  ['gte', '>='],
  ['lt', '<'],
  ['lte', '<='],
]);

/**
 * Returns the condition that a filter, which comes from outside, has for a chunk. Throws `ValidationError`, which names
 * the place.
 */
export function conditionOf(filter: unknown, subject: Subject): Condition {
  const compiler = new Compiler(subject);
  return { sql: compiler.compile(filter, 'filter', { depth: 1, isNegated: false }), values: compiler.values };
}

/** Returns a filter that comes from outside. Throws `ValidationError`, which names the place. @param at where it is */
export function checkFilter(filter: unknown, at: string): VectorFilter {
  new Compiler({ chunk: 'id', collection: 0, first: 1 }).compile(filter, at, { depth: 1, isNegated: false });
  return filter as VectorFilter;
}

interface Place {
  readonly depth: number;
  /** Whether the condition must not be satisfied. */
  readonly isNegated: boolean;
}

class Compiler {
  readonly values: Value[] = [];
  readonly #subject: Subject;
  readonly #collection: string;
  #conditions = 0;

  constructor(subject: Subject) {
    this.#subject = subject;
    this.#collection = this.#bind(subject.collection);
  }

  compile(given: unknown, at: string, { depth, isNegated }: Place): string {
    if (depth > MOST_DEPTH) throw wrong(at, `filters are at most ${MOST_DEPTH} deep`);
    this.#conditions += 1;
    if (this.#conditions > MOST_CONDITIONS) throw wrong(at, `the filter has more than ${MOST_CONDITIONS} conditions`);
    if (typeof given !== 'object' || given === null) throw wrong(at, 'it must be an object');
    const { type, key, value, filters, filter } = given as Readonly<Record<string, unknown>>;
    if (type === 'not') return this.compile(filter, `${at}.filter`, { depth: depth + 1, isNegated: !isNegated });
    if (type === 'and' || type === 'or') {
      if (!Array.isArray(filters) || filters.length === 0) throw wrong(`${at}.filters`, 'it must be a list of filters');
      const each = filters.map((one, n) => this.compile(one, `${at}.filters[${n}]`, { depth: depth + 1, isNegated }));
      return `(${each.join((type === 'and') === isNegated ? ' or ' : ' and ')})`;
    }
    const name = checkKey(key, `${at}.key`);
    if (type === 'eq' || type === 'ne')
      return this.#anyOf(name, [checkValue(value, `${at}.value`)], isNegated !== (type === 'ne'));
    if (type === 'in' || type === 'nin') {
      if (!Array.isArray(value)) throw wrong(`${at}.value`, 'it must be a list');
      if (this.values.length + value.length > MOST_VALUES)
        throw wrong(`${at}.value`, `the filter has more than ${MOST_VALUES} values`);
      const checked = value.map((one, n) => checkValue(one, `${at}.value[${n}]`));
      return this.#anyOf(name, checked, isNegated !== (type === 'nin'));
    }
    const operator = ORDER.get(String(type));
    if (operator === undefined)
      throw wrong(`${at}.type`, 'it must be eq, ne, gt, gte, lt, lte, in, nin, and, or, or not');
    const bound = checkValue(value, `${at}.value`);
    if (typeof bound === 'boolean') throw wrong(`${at}.value`, `${String(type)} needs a number or a text`);
    return this.#having(name, typeof bound, `${operator} ${this.#bind(bound)}`, isNegated);
  }

  /** The attribute is one of these values. They are compared with those of their own type. */
  #anyOf(key: string, values: readonly MetadataValue[], isNegated: boolean): string {
    const conditions = ['string', 'number', 'boolean'].flatMap((type) => {
      const same = values.filter((value) => typeof value === type);
      if (same.length === 0) return [];
      const bound = same.map((value) => this.#bind(typeof value === 'boolean' ? Number(value) : value));
      return [this.#having(key, type, `in (${bound.join(', ')})`, isNegated)];
    });
    if (conditions.length === 0) return this.#having(key, 'string', 'in (null)', isNegated); // nothing is in it
    return `(${conditions.join(isNegated ? ' and ' : ' or ')})`;
  }

  /** The chunk has an attribute of this type that satisfies the comparison. */
  #having(key: string, type: string, comparison: string, isNegated: boolean): string {
    const { chunk } = this.#subject;
    const column = type === 'string' ? 'text' : 'number';
    const attribute = `collection = ${this.#collection} and key = ${this.#bind(key)} and type = '${type}'`;
    const wanted = `${attribute} and ${column} ${comparison}`;
    // PostgreSQL compares each row with all results of `not in`, unless they fit into its memory.
    return isNegated
      ? `not exists (select 1 from vector_attributes where chunk = ${chunk} and ${wanted})`
      : `${chunk} in (select chunk from vector_attributes where ${wanted})`;
  }

  #bind(value: Value): string {
    return `$${this.#subject.first - 1 + this.values.push(value)}`;
  }
}

/** Most characters of a key and of a text of the metadata, because both are in an index. */
const KEY_LENGTH = 64;
const TEXT_LENGTH = 512;

/** Returns a key of the metadata. Throws `ValidationError`. @param at where it is, for the message */
export function checkKey(key: unknown, at: string): string {
  if (typeof key !== 'string' || key === '' || key.length > KEY_LENGTH)
    throw wrong(at, `it must be a text of 1 to ${KEY_LENGTH} characters`);
  return checkUnicode(at, key);
}

/** Returns a value of the metadata. Throws `ValidationError`. @param at where it is, for the message */
export function checkValue(value: unknown, at: string): MetadataValue {
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return value;
  if (typeof value !== 'string') throw wrong(at, 'it must be a text, a finite number, true or false');
  if (value.length > TEXT_LENGTH) throw wrong(at, `it has ${value.length} characters, and may have ${TEXT_LENGTH}`);
  return checkUnicode(at, value);
}

/** Returns the error of a value from outside. @param at where it is */
export function wrong(at: string, reason: string): AanaError {
  return fail('ValidationError', `${at}: ${reason}`);
}
