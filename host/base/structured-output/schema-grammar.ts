import { isDeepStrictEqual } from 'node:util';
import { valueAt } from '../core/json/json-pointer.ts';
import { compileJsonSchema } from '../json-schema/index.ts';
import { complement, one, union } from './char-set.ts';
import { areApart } from './disjoint.ts';
import { FORMAT_PATTERNS, FORMATS } from './formats.ts';
import { choice, literal, oneOf, repeated, Rules, sequence } from './gbnf.ts';
import { type Bound, numbersBetween } from './numbers.ts';
import { objectGrammar, type Property } from './object-grammar.ts';
import { Impossible, refuse, UnusableStructure, WrongReference } from './refusal.ts';
import { regexGrammar } from './regex-grammar.ts';
import { lengthsOf, parseRegex, type Regex } from './regex-parser.ts';
import {
  asSchema,
  assertions,
  count,
  explicitTypes,
  isObject,
  QUOTE_FORMAT,
  type Schema,
  type SchemaObject,
  type TypeName,
  typesOf,
} from './schema-keywords.ts';
import { merged, propertiesOf } from './schema-merge.ts';

const MOST_CHARS = 512 * 1024;
const MOST_SCHEMAS = 20_000;
const MOST_NESTING = 150;

/** A quotation in a grammar of ours. */
export const QUOTE = '%quote';

const HEX = '[0-9a-fA-F]';
/** A character of a string: as it is, or escaped. Half of a surrogate pair comes with its other half only. */
const CHAR =
  `${oneOf(complement(union([[0, 0x1f]], one(0x22), one(0x5c))))} | "\\\\" (["\\\\/bfnrt] | "u" ` +
  `([0-9a-cefA-CEF] ${HEX}{3} | [dD] [0-7] ${HEX}{2} | [dD] [89abAB] ${HEX}{2} "\\\\u" [dD] [c-fC-F] ${HEX}{2}))`;
/** White space is short: a model that is unsure would write nothing else. */
const SHORT_SPACE = '(" " | "\\n" (" "{0,24} | "\\t"{0,6}))?';

function lengthOf(schema: unknown): number {
  try {
    return JSON.stringify(schema).length;
  } catch (error) {
    if (error instanceof RangeError) refuse('#', 'the schema is nested too deep');
    throw error;
  }
}

export interface SchemaGrammarOptions {
  /** The rules to which the schema adds. */
  readonly rules?: Rules;
  /**
   * Whether the grammar takes more values where it cannot express a part of the schema. {@link SchemaGrammar.unbound}
   * names these places.
   */
  readonly isLoose?: boolean;
  /** Larger counts of items, characters and properties are not supported, because the grammar would be too large. */
  readonly mostRepeated?: number;
  /** Whether strings with the format `quote` are quotations. */
  readonly hasQuotes?: boolean;
}

/** The form of a string, and the keyword that says it. */
interface StringForm {
  readonly keyword: 'pattern' | 'format';
  readonly regex: Regex;
}

/**
 * Writes the values of a schema (2020-12, or draft 7) and of its parts as rules for their JSON texts. All these texts
 * are valid; where a schema leaves the order or the form open, the rules choose: properties come in the order of the
 * schema, and properties that it does not name only where it says so. Throws `UnusableStructure`, which names the place
 * and the keyword, for a schema that rules cannot express.
 */
export class SchemaGrammar {
  readonly #root: Schema;
  readonly #rules: Rules;
  readonly #isLoose: boolean;
  readonly #mostRepeated: number;
  readonly #hasQuotes: boolean;
  readonly #ws: string;
  readonly #unbound = new Set<string>();
  /** The rule of each reference, or why it has no value. */
  readonly #referred = new Map<string, string | Impossible>();
  #schemas = 0;
  #nesting = 0;

  constructor(
    root: unknown,
    { rules = new Rules(), isLoose = false, mostRepeated = Infinity, hasQuotes = false }: SchemaGrammarOptions = {},
  ) {
    if (lengthOf(root) > MOST_CHARS) refuse('#', `the schema has more than ${MOST_CHARS} characters`);
    this.#root = asSchema(root, '#');
    this.#rules = rules;
    this.#isLoose = isLoose;
    this.#mostRepeated = mostRepeated;
    this.#hasQuotes = hasQuotes;
    this.#ws = this.#rules.named('ws', SHORT_SPACE);
  }

  grammar(): string {
    const root = this.#valuesOf(this.#root, '#');
    return this.#rules.grammar(root);
  }

  /**
   * JSON pointers to the keywords that do not bind the values of the grammar, and to parts of which no keyword but
   * `type` does.
   */
  get unbound(): readonly string[] {
    return [...this.#unbound];
  }

  /** Returns a rule for the values of a part of the schema; undefined if there are none. */
  ruleOf(part: Schema, at: string): string | undefined {
    const values = this.#possible(part, at);
    return values === undefined ? undefined : this.#rules.add(values);
  }

  /** Returns a part of the schema without references and `allOf`. */
  flat(part: Schema, at: string): Schema {
    return this.#flat(part, at);
  }

  /** Returns how often a grammar repeats a part. A count that is too large is left out. */
  countOf(schema: SchemaObject, key: string, absent: number, at: string): number {
    const value = count(schema, key, absent, at);
    if (value === absent || value <= this.#mostRepeated) return value;
    this.#leaveOut(key, at, `is not supported above ${this.#mostRepeated}`);
    return absent;
  }

  /** Returns the form of a string that has a pattern or a format. */
  regexOf({ pattern, format }: SchemaObject, at: string): Regex {
    return this.#regexOf(pattern, format, at);
  }

  /** Returns the values of a schema as a part of a grammar. */
  #valuesOf(schema: Schema, at: string): string {
    if (!this.#isLoose) return this.#exactValues(schema, at);
    const nesting = this.#nesting;
    try {
      return this.#exactValues(schema, at);
    } catch (error) {
      if (!(error instanceof UnusableStructure) || error instanceof Impossible || error instanceof WrongReference)
        throw error;
      this.#nesting = nesting;
      this.#unbound.add(at);
      return this.#looseValues(schema, at);
    }
  }

  /** Returns all values of the types that a schema names. */
  #looseValues(schema: Schema, at: string): string {
    const types = typeof schema === 'boolean' ? undefined : explicitTypes(schema, at);
    if (!types) return this.#anything();
    return this.#choiceOf(
      types.map((type) => () => this.#valuesOfType(type, {}, at)),
      at,
    );
  }

  #assertions(schema: SchemaObject, at: string): SchemaObject {
    const { held, unheld } = assertions(schema, at, this.#hasQuotes);
    for (const keyword of unheld) this.#leaveOut(keyword, at);
    return held;
  }

  /** Notes that a keyword does not bind the values. Throws where the grammar must hold all keywords. */
  #leaveOut(keyword: string, at: string, why = 'is not supported'): void {
    if (!this.#isLoose) refuse(at, `the keyword ${JSON.stringify(keyword)} ${why}`);
    this.#unbound.add(`${at}/${keyword}`);
  }

  #exactValues(schema: Schema, at: string): string {
    if (schema === true) return this.#anything();
    if (schema === false) throw new Impossible(at, 'the schema is false');
    if (++this.#schemas > MOST_SCHEMAS || ++this.#nesting > MOST_NESTING)
      refuse(at, 'the schema is too complex: its parts contain each other too often or too deep');
    try {
      const own = this.#assertions(schema, at);
      const keys = Object.keys(own);
      if (keys.length === 0) return this.#anything();
      if (keys.length === 1 && typeof own['$ref'] === 'string') return this.#referredValues(own['$ref'], at);
      return this.#plainValues(this.#resolved(own, at), at);
    } finally {
      this.#nesting -= 1;
    }
  }

  #referredValues(reference: string, at: string): string {
    const known = this.#referred.get(reference);
    if (known instanceof Impossible) throw known;
    if (known !== undefined) return known;
    const name = this.#rules.reserve();
    this.#referred.set(reference, name);
    try {
      const values = this.#valuesOf(this.#target(reference, at), reference);
      if (values === name) throw new WrongReference(at, `${reference} leads to itself`);
      this.#rules.define(name, values);
      return name;
    } catch (error) {
      // The rules of later references may contain this one, because it seemed to have values.
      const all = [...this.#referred.keys()];
      for (const later of all.slice(all.indexOf(reference))) this.#referred.delete(later);
      if (error instanceof Impossible) this.#referred.set(reference, error);
      throw error;
    }
  }

  #target(reference: unknown, at: string): Schema {
    if (typeof reference !== 'string' || (reference !== '#' && !reference.startsWith('#/')))
      throw new WrongReference(at, `${JSON.stringify(reference)} does not begin with "#/"`);
    const target = valueAt(this.#root, reference);
    if (target === undefined) throw new WrongReference(at, `${reference} leads nowhere`);
    return asSchema(target, reference);
  }

  /** Returns a schema that means the same without `$ref` and `allOf`. */
  #resolved(own: SchemaObject, at: string): Schema {
    if (++this.#schemas > MOST_SCHEMAS || ++this.#nesting > MOST_NESTING)
      refuse(at, 'the schema is too complex: its parts contain each other too often or too deep');
    try {
      const { $ref: reference, allOf, ...rest } = normalized(own, at);
      const parts = allOf === undefined ? [] : listOf(allOf, 'allOf', at);
      const isAlone = Object.keys(rest).length === 0 && parts.length + (reference === undefined ? 0 : 1) === 1;
      let result: Schema = rest;
      const add = (part: Schema, where: string): void => {
        if (part === false) throw new Impossible(where, 'the schema is false');
        const other = part === true ? true : this.#resolved(this.#assertions(part, where), where);
        if (!isAlone) refuseUnevaluated(other, where);
        result = merged(result, other, where);
      };
      if (reference !== undefined) add(this.#target(reference, at), String(reference));
      parts.forEach((part, index) => add(part, `${at}/allOf/${index}`));
      return result;
    } finally {
      this.#nesting -= 1;
    }
  }

  /** Returns the values of a schema without references. */
  #plainValues(schema: Schema, at: string): string {
    if (schema === true) return this.#anything();
    if (schema === false) throw new Impossible(at, 'the schema is false');
    const { anyOf, oneOf: alternatives, ...rest } = schema;
    if (anyOf !== undefined) {
      const others = alternatives === undefined ? rest : { ...rest, oneOf: alternatives };
      return this.#anyOf(listOf(anyOf, 'anyOf', at), others, `${at}/anyOf`);
    }
    if (alternatives !== undefined) {
      const options = listOf(alternatives, 'oneOf', at).map((option, index) =>
        this.#withBase(option, rest, `${at}/oneOf/${index}`),
      );
      const possible = options.filter((option) => option !== undefined);
      for (const [index, a] of possible.entries()) {
        for (const b of possible.slice(index + 1)) {
          if (areApart(a, b, (part) => this.#flat(part, at))) continue;
          this.#leaveOut('oneOf', at, 'is supported only where no value can meet two of its schemas');
        }
      }
      return this.#choiceOf(
        possible.map((option) => () => this.#plainValues(option, `${at}/oneOf`)),
        at,
      );
    }
    if (schema['enum'] !== undefined || schema['const'] !== undefined) return this.#constants(schema, at);
    const types = typesOf(schema, at);
    if (!types) return this.#anything();
    const distinct = types.includes('number') ? types.filter((type) => type !== 'integer') : types;
    return this.#choiceOf(
      distinct.map((type) => () => this.#valuesOfType(type, schema, at)),
      at,
    );
  }

  #flat(schema: Schema, at: string): Schema {
    return typeof schema === 'boolean' ? schema : this.#resolved(this.#assertions(schema, at), at);
  }

  #withBase(option: Schema, base: SchemaObject, at: string): Schema | undefined {
    try {
      return this.#joined(base, option, at);
    } catch (error) {
      if (error instanceof Impossible) return undefined;
      throw error;
    }
  }

  #joined(base: SchemaObject, option: Schema, at: string): Schema {
    const flat = this.#flat(option, at);
    if (Object.keys(base).length > 0) refuseUnevaluated(flat, at);
    return merged(base, flat, at);
  }

  #anyOf(options: readonly Schema[], base: SchemaObject, at: string): string {
    const isPlain = Object.keys(base).length === 0;
    const possible = options.map((option, index) => () => {
      const where = `${at}/${index}`;
      return isPlain ? this.#valuesOf(option, where) : this.#plainValues(this.#joined(base, option, where), where);
    });
    return this.#choiceOf(possible, at);
  }

  /** Returns a choice between the options for which there are values. */
  #choiceOf(options: readonly (() => string)[], at: string): string {
    let reason: Impossible | undefined;
    const possible = options.flatMap((option) => {
      try {
        return [option()];
      } catch (error) {
        if (!(error instanceof Impossible)) throw error;
        reason = error;
        return [];
      }
    });
    if (possible.length === 0) throw reason ?? new Impossible(at, 'there is no alternative');
    return possible.length === 1 ? possible[0]! : this.#rules.add(choice(possible));
  }

  #constants({ enum: list, const: constant, ...rest }: SchemaObject, at: string): string {
    if (list !== undefined && !Array.isArray(list)) refuse(at, '"enum" is not a list');
    if (this.#hasQuotes && rest['format'] === QUOTE_FORMAT)
      this.#leaveOut('format', at, 'is not supported beside "enum" and "const"');
    const all = (list as unknown[] | undefined) ?? [constant];
    const wanted = constant === undefined ? all : all.filter((value) => isDeepStrictEqual(value, constant));
    const values = Object.keys(rest).length === 0 ? wanted : wanted.filter((value) => this.#isValid(rest, value, at));
    if (values.length === 0) throw new Impossible(at, 'no value of "enum" or "const" meets the other keywords');
    return this.#rules.add(choice(values.map((value) => literal(JSON.stringify(value)))));
  }

  #isValid(schema: SchemaObject, value: unknown, at: string): boolean {
    try {
      return compileJsonSchema(schema).issues(value).length === 0;
    } catch (error) {
      return refuse(at, `"enum" and "const" beside other keywords: ${(error as Error).message}`);
    }
  }

  #valuesOfType(type: TypeName, schema: SchemaObject, at: string): string {
    switch (type) {
      case 'string':
        return this.#strings(schema, at);
      case 'number':
      case 'integer':
        return this.#numbers(type, schema, at);
      case 'boolean':
        return this.#boolean();
      case 'null':
        return this.#null();
      case 'array':
        return this.#arrays(schema, at);
      case 'object':
        return this.#objects(schema, at);
    }
  }

  #anything(): string {
    const [rules, ws] = [this.#rules, this.#ws];
    const string = this.#strings({}, '#');
    const atoms = [string, this.#numbers('number', {}, '#'), this.#boolean(), this.#null()];
    return rules.named('value', (value) => {
      const pair = rules.named('pair', `${string} ":" ${ws} ${value}`);
      const object = rules.named('object', `"{" ${ws} (${pair} ("," ${ws} ${pair})*)? ${ws} "}"`);
      const array = rules.named('array', `"[" ${ws} (${value} ("," ${ws} ${value})*)? ${ws} "]"`);
      return [object, array, ...atoms].join(' | ');
    });
  }

  #boolean(): string {
    return this.#rules.named('boolean', '"true" | "false"');
  }

  #null(): string {
    return this.#rules.named('null', '"null"');
  }

  #strings(schema: SchemaObject, at: string): string {
    if (this.#hasQuotes && schema['format'] === QUOTE_FORMAT) return this.#quotations(schema, at);
    const [min, max] = [count(schema, 'minLength', 0, at), count(schema, 'maxLength', Infinity, at)];
    if (min > max) throw new Impossible(at, `minLength is ${min}, maxLength ${max}`);
    const form = this.#formOf(schema, at);
    if (!form) {
      const [least, most] = [this.countOf(schema, 'minLength', 0, at), this.countOf(schema, 'maxLength', Infinity, at)];
      const char = this.#rules.named('char', CHAR);
      const chars = repeated(char, least, most);
      return least === 0 && most === Infinity
        ? this.#rules.named('string', sequence('"\\""', chars, '"\\""'))
        : this.#rules.add(sequence('"\\""', chars, '"\\""'));
    }
    const { keyword, regex } = form;
    const [least, most] = lengthsOf(regex);
    if (least < min) this.#leaveOut('minLength', at, `is not supported beside "${keyword}"`);
    if (most > max) this.#leaveOut('maxLength', at, `is not supported beside "${keyword}"`);
    return this.#rules.add(sequence('"\\""', regexGrammar(regex, true), '"\\""'));
  }

  #quotations(schema: SchemaObject, at: string): string {
    for (const keyword of ['pattern', 'minLength', 'maxLength'])
      if (schema[keyword] !== undefined) this.#leaveOut(keyword, at, `is not supported beside "${QUOTE_FORMAT}"`);
    return this.#rules.add(sequence('"\\""', QUOTE, '"\\""'));
  }

  /** Returns the form of the strings, and the keyword that says it. A pattern that cannot be expressed is left out. */
  #formOf({ pattern, format }: SchemaObject, at: string): StringForm | undefined {
    const keyword = pattern === undefined ? 'format' : 'pattern';
    if (pattern === undefined && format === undefined) return undefined;
    try {
      return { keyword, regex: this.#regexOf(pattern, format, at) };
    } catch (error) {
      if (!this.#isLoose || !(error instanceof UnusableStructure)) throw error;
      this.#leaveOut(keyword, at);
      return undefined;
    }
  }

  /** Returns the form of a string. Beside a pattern, the format only says in words what the pattern says exactly. */
  #regexOf(pattern: unknown, format: unknown, at: string): Regex {
    const source = FORMATS.get(String(format));
    if (pattern !== undefined && !(source !== undefined && FORMAT_PATTERNS.has(String(pattern))))
      return typeof pattern === 'string'
        ? parseRegex(pattern, `${at}/pattern`, false)
        : refuse(at, '"pattern" is not a text');
    return parseRegex(source!, `${at}/format`, true);
  }

  #numbers(type: 'number' | 'integer', schema: SchemaObject, at: string): string {
    const { multipleOf } = schema;
    const isInteger = type === 'integer' || multipleOf === 1;
    if (multipleOf !== undefined && multipleOf !== 1) this.#leaveOut('multipleOf', at, 'is supported only with 1');
    const [min, max] = [
      boundOf(schema, 'minimum', 'exclusiveMinimum', larger, at),
      boundOf(schema, 'maximum', 'exclusiveMaximum', smaller, at),
    ];
    if (!min && !max) {
      const integer = this.#rules.named('integer', '"-"? ("0" | [1-9] [0-9]{0,14})');
      return isInteger
        ? integer
        : this.#rules.named('number', `${integer} ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?`);
    }
    const numbers = numbersBetween(min, max, isInteger);
    if (numbers === undefined) throw new Impossible(at, 'no number is between its bounds');
    return this.#rules.add(numbers);
  }

  #arrays(schema: SchemaObject, at: string): string {
    const { items, prefixItems, uniqueItems, unevaluatedItems } = schema;
    const first = prefixItems === undefined ? [] : listOf(prefixItems, 'prefixItems', at);
    if (unevaluatedItems !== undefined && typeof unevaluatedItems !== 'boolean')
      this.#leaveOut('unevaluatedItems', at, 'is supported only with true or false');
    const isClosed = first.length > 0 || unevaluatedItems === false;
    const min = this.countOf(schema, 'minItems', 0, at);
    const rest: Schema =
      items === undefined
        ? !isClosed || (min > first.length && unevaluatedItems !== false)
        : asSchema(items, `${at}/items`);
    let max = this.countOf(schema, 'maxItems', Infinity, at);
    const parts: string[] = [];
    for (const [index, part] of first.entries()) {
      const value = this.#possible(part, `${at}/prefixItems/${index}`);
      if (value === undefined) {
        max = Math.min(max, index);
        break;
      }
      parts.push(value);
    }
    const item = this.#possible(rest, `${at}/items`);
    if (item === undefined) max = Math.min(max, parts.length);
    if (min > max) throw new Impossible(at, `it has at least ${min} and at most ${max} items`);
    if (uniqueItems === true && max > 1) this.#leaveOut('uniqueItems', at);
    return this.#rules.add(sequence('"["', this.#ws, this.#list(parts, item, min, max), this.#ws, '"]"'));
  }

  /** Returns the items of a list: one of each part, then any number of `item`. */
  #list(parts: readonly string[], item: string | undefined, min: number, max: number): string {
    const comma = sequence('","', this.#ws);
    const fixed = parts.slice(0, max);
    const from = (index: number): string => {
      const part = fixed[index];
      const before = index === 0 ? '' : comma;
      if (part !== undefined) {
        const all = sequence(before, part, from(index + 1));
        return index < min ? all : `(${all})?`;
      }
      if (item === undefined || index >= max) return '';
      const [least, most] = [Math.max(0, min - index), max - index];
      if (index > 0) return repeated(sequence(comma, item), least, most);
      const some = sequence(item, repeated(sequence(comma, item), Math.max(0, least - 1), most - 1));
      return least === 0 ? `(${some})?` : some;
    };
    return from(0);
  }

  /** Returns the values of a part of a schema; undefined if there are none. */
  #possible(schema: Schema, at: string): string | undefined {
    try {
      return this.#valuesOf(schema, at);
    } catch (error) {
      if (error instanceof Impossible) return undefined;
      throw error;
    }
  }

  #objects(schema: SchemaObject, at: string): string {
    const { required = [], unevaluatedProperties, additionalProperties } = schema;
    if (schema['properties'] !== undefined && !isObject(schema['properties']))
      refuse(at, '"properties" is not an object');
    if (!Array.isArray(required) || !required.every((name) => typeof name === 'string'))
      refuse(at, '"required" is not a list of names');
    if (unevaluatedProperties !== undefined && typeof unevaluatedProperties !== 'boolean')
      this.#leaveOut('unevaluatedProperties', at, 'is supported only with true or false');
    const declared = propertiesOf(schema);
    const isOpen = Object.keys(declared).length === 0 && required.length === 0 && unevaluatedProperties !== false;
    const others = asSchema(additionalProperties ?? isOpen, `${at}/additionalProperties`);
    const unnamed: Schema = additionalProperties === undefined ? unevaluatedProperties !== false : others;
    const all: Readonly<Record<string, Schema>> = {
      ...declared,
      ...Object.fromEntries(required.filter((name) => !Object.hasOwn(declared, name)).map((name) => [name, unnamed])),
    };
    const properties: Property[] = [];
    for (const [name, part] of Object.entries(all)) {
      const where = `${at}/properties/${name}`;
      const isRequired = required.includes(name);
      const value = this.#possible(asSchema(part, where), where);
      if (value !== undefined) properties.push({ name, isRequired, value });
      else if (isRequired) throw new Impossible(at, `the required property ${JSON.stringify(name)} can have no value`);
    }
    const other = this.#possible(others, `${at}/additionalProperties`);
    const [min, max] = this.#otherCounts(schema, properties, other !== undefined, at);
    const parts = {
      properties,
      taken: Object.keys(all),
      others: other === undefined ? undefined : { value: other, min, max },
    };
    return this.#rules.add(objectGrammar(this.#rules, parts, this.#ws));
  }

  /** Returns how many properties may come beside the named ones. */
  #otherCounts(
    schema: SchemaObject,
    properties: readonly Property[],
    isOpen: boolean,
    at: string,
  ): readonly [number, number] {
    const [min, max] = [
      this.countOf(schema, 'minProperties', 0, at),
      this.countOf(schema, 'maxProperties', Infinity, at),
    ];
    const n = properties.length;
    const nRequired = properties.filter(({ isRequired }) => isRequired).length;
    if (max < nRequired) throw new Impossible(at, `maxProperties is ${max}, but ${nRequired} are required`);
    if (!isOpen && min > n) throw new Impossible(at, `minProperties is ${min}, but there are ${n}`);
    const isMinMet = min <= nRequired;
    const isMaxMet = !isOpen && max >= n;
    if (isMinMet && isMaxMet) return [0, Infinity];
    // Two of the others may have the same name, and count as one.
    if (n === nRequired && (isMinMet || min - n === 1)) return [Math.max(0, min - n), max - n];
    if (isMinMet && max === Infinity) return [0, Infinity];
    if (!isMinMet) this.#leaveOut('minProperties', at, 'is not supported here');
    if (max < Infinity && !isMaxMet) this.#leaveOut('maxProperties', at, 'is not supported here');
    return [0, Infinity];
  }
}

/** Returns a schema in the form of 2020-12, with lists of constants for single ones. */
function normalized(schema: SchemaObject, at: string): SchemaObject {
  if (Array.isArray(schema['items'])) {
    const { items, additionalItems, ...rest } = schema;
    return { ...rest, prefixItems: items, ...(additionalItems !== undefined && { items: additionalItems }) };
  }
  if (schema['additionalItems'] !== undefined && schema['prefixItems'] !== undefined)
    refuse(at, 'the keywords "additionalItems" and "prefixItems" do not go together');
  const { additionalItems: _, ...rest } = schema; // it means nothing without a list of items
  return rest;
}

/** Throws for a part that looks at what it evaluates itself, because `merged` would let it see the other parts. */
function refuseUnevaluated(part: Schema, at: string): void {
  for (const key of ['unevaluatedProperties', 'unevaluatedItems']) {
    if (typeof part === 'object' && part[key] !== undefined && part[key] !== true)
      refuse(at, `the keyword "${key}" is not supported in a part of a schema`);
  }
}

function listOf(value: unknown, key: string, at: string): readonly Schema[] {
  if (!Array.isArray(value) || value.length === 0) refuse(at, `"${key}" is not a list of schemas`);
  return value.map((part, index) => asSchema(part, `${at}/${key}/${index}`));
}

const larger = (a: number, b: number): boolean => a > b;
const smaller = (a: number, b: number): boolean => a < b;

function boundOf(
  schema: SchemaObject,
  key: string,
  exclusiveKey: string,
  isNarrower: (a: number, b: number) => boolean,
  at: string,
): Bound | undefined {
  const [inclusive, exclusive] = [schema[key], schema[exclusiveKey]];
  for (const [name, value] of [
    [key, inclusive],
    [exclusiveKey, exclusive],
  ] as const) {
    if (value !== undefined && (typeof value !== 'number' || !Number.isFinite(value)))
      refuse(at, `${name} is not a number`);
  }
  const [a, b] = [inclusive as number | undefined, exclusive as number | undefined];
  if (a === undefined && b === undefined) return undefined;
  if (b === undefined || (a !== undefined && isNarrower(a, b))) return { value: a!, isExclusive: false };
  return { value: b, isExclusive: true };
}
