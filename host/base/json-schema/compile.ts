import { pointerKeys } from '../core/json/json-pointer.ts';
import { arrayNode } from './arrays.ts';
import { Budget, TooComplex } from './budget.ts';
import { FINE, type Issue } from './issues.ts';
import { isSchemaObject, type Schema, type SchemaNode, UnusableSchema } from './node.ts';
import { objectNode, wrongType } from './objects.ts';
import { scalarNode, stringNode } from './scalars.ts';
import { allOfNode, anyOfNode, oneOfNode } from './unions.ts';

/** Most characters of a schema as JSON, because every part of it costs memory of the host. */
const MOST_CHARS = 1024 * 1024;
/** Most nested schemas in the source. */
const MOST_NESTING = 100;
/** Keywords that are not supported. A schema with one of them is refused, because it would not be checked fully. */
const UNSUPPORTED = [
  'unevaluatedItems',
  'unevaluatedProperties',
  'if',
  'then',
  'else',
  'dependentSchemas',
  'dependentRequired',
];

const ANYTHING: SchemaNode = { check: () => FINE };
const NOTHING: SchemaNode = { isNever: true, check: (_, budget) => wrongType('never', budget) };

/** A compiled schema that checks values. */
export interface JsonSchemaCheck {
  /**
   * Returns the issues of a value, for `validationEntries`; empty when the value is valid. Throws `TooComplex` when the
   * check takes more than `CHECK_STEPS` steps.
   */
  issues(value: unknown): readonly Issue[];
}

/**
 * Compiles an untrusted JSON Schema (2020-12, and the older forms of tuples and definitions). A check takes bounded
 * time for every schema and value. Issues are those of `z.fromJSONSchema`. Throws `UnusableSchema`, which names the
 * place and the keyword.
 */
export function compileJsonSchema(schema: unknown): JsonSchemaCheck {
  const text = JSON.stringify(schema);
  if (text.length > MOST_CHARS)
    throw new UnusableSchema(`it has ${text.length} characters, but only ${MOST_CHARS} are allowed`);
  const node = new Compiler(schema).compile(schema, '#');
  return {
    issues(value) {
      try {
        return node.check(value, new Budget()).issues;
      } catch (error) {
        if (error instanceof RangeError)
          throw new TooComplex('the value is nested too deep to check', { cause: error });
        throw error;
      }
    },
  };
}

class Compiler {
  readonly #root: Schema;
  readonly #referred = new Map<string, SchemaNode>();
  #nesting = 0;

  constructor(root: unknown) {
    this.#root = isSchemaObject(root) ? root : {};
  }

  readonly compile = (schema: unknown, at: string): SchemaNode => {
    if (typeof schema === 'boolean') return schema ? ANYTHING : NOTHING;
    if (!isSchemaObject(schema)) throw new UnusableSchema(`${at} is not a schema`);
    if (++this.#nesting > MOST_NESTING)
      throw new UnusableSchema(`${at}: schemas are nested more than ${MOST_NESTING} levels deep`);
    const node = this.#withDefault(this.#composed(schema, at), schema);
    this.#nesting--;
    return node;
  };

  #withDefault(node: SchemaNode, schema: Schema): SchemaNode {
    if (schema['default'] === undefined) return node;
    return { mayBeAbsent: true, check: (value, budget) => (value === undefined ? FINE : node.check(value, budget)) };
  }

  /** Compiles a schema with its `anyOf`, `oneOf` and `allOf`. */
  #composed(schema: Schema, at: string): SchemaNode {
    const { anyOf, oneOf, allOf } = schema;
    const hasType = Boolean(schema['type']) || schema['enum'] !== undefined || schema['const'] !== undefined;
    const branches = (keyword: string, all: readonly unknown[]): SchemaNode[] =>
      all.map((one, n) => this.compile(one, `${at}/${keyword}/${n}`));
    let node = this.#plain(schema, at);
    for (const [keyword, list, make] of [
      ['anyOf', anyOf, anyOfNode],
      ['oneOf', oneOf, oneOfNode],
    ] as const) {
      if (!Array.isArray(list)) continue;
      const union = make(branches(keyword, list));
      node = hasType ? allOfNode(node, union) : union;
    }
    if (!Array.isArray(allOf)) return node;
    const all = branches('allOf', allOf);
    return all.length === 0 && !hasType ? ANYTHING : (hasType ? [node, ...all] : all).reduce(allOfNode);
  }

  /** Compiles a schema without its `anyOf`, `oneOf` and `allOf`. */
  #plain(schema: Schema, at: string): SchemaNode {
    const { not, type } = schema;
    if (not !== undefined) {
      if (isSchemaObject(not) && Object.keys(not).length === 0) return NOTHING;
      throw new UnusableSchema(`${at}/not cannot be used, except {} for a value that must be absent`);
    }
    const unsupported = UNSUPPORTED.find((keyword) => schema[keyword] !== undefined);
    if (unsupported !== undefined)
      throw new UnusableSchema(`${at}/${unsupported} cannot be used: the keyword is not supported`);
    if (schema['$ref']) return this.#reference(schema['$ref'], at);
    if (schema['enum'] !== undefined || schema['const'] !== undefined) return scalarNode(schema, at);
    if (Array.isArray(type))
      return type.length === 0 ? NOTHING : anyOfNode(type.map((one) => this.#plain({ ...schema, type: one }, at)));
    switch (type) {
      case undefined:
      case '':
        return ANYTHING;
      case 'object':
        return objectNode(schema, at, this.compile);
      case 'array':
        return arrayNode(schema, at, this.compile);
      case 'string':
        return stringNode(schema, at);
      case 'number':
      case 'integer':
      case 'boolean':
      case 'null':
        return scalarNode(schema, at);
      default:
        throw new UnusableSchema(`${at}/type cannot be used: ${JSON.stringify(type)} is not a type`);
    }
  }

  #reference(reference: unknown, at: string): SchemaNode {
    const name = String(reference);
    const known = this.#referred.get(name);
    if (known) return known;
    let target: SchemaNode | undefined;
    // Registered before it is compiled, because it may refer to itself.
    const node: SchemaNode = {
      get mayBeAbsent() {
        return target?.mayBeAbsent === true;
      },
      get isNever() {
        return target?.isNever === true;
      },
      check(value, budget) {
        budget.spend(1);
        budget.enter();
        const finding = target!.check(value, budget);
        budget.leave();
        return finding;
      },
    };
    this.#referred.set(name, node);
    target = this.compile(this.#resolved(name, at), name);
    return node;
  }

  #resolved(name: string, at: string): unknown {
    if (name === '#') return this.#root;
    const [kind = '', key, ...more] = pointerKeys(name) ?? [];
    const all = kind === '$defs' || kind === 'definitions' ? this.#root[kind] : undefined;
    if (key !== undefined && more.length === 0 && isSchemaObject(all) && Object.hasOwn(all, key)) return all[key];
    throw new UnusableSchema(`${at}/$ref: there is no ${JSON.stringify(name)} in the schema`);
  }
}
