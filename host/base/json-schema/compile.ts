import { pointerKeys } from '../core/json/json-pointer.ts';
import { arrayNode } from './arrays.ts';
import { Budget, TooComplex } from './budget.ts';
import { FINE, type Issue } from './issues.ts';
import { ANYTHING, isSchemaObject, type Schema, type SchemaNode, UnusableSchema } from './node.ts';
import { objectNode, wrongType } from './objects.ts';
import { checkKeywords, KEYWORDS_OF, type KeywordType } from './keywords.ts';
import { isScalar, scalarNode, stringNode, valuesNode } from './scalars.ts';
import { allOfNode, anyOfNode, besideNode, oneOfNode } from './unions.ts';

/** Most characters of a schema as JSON, because every part of it costs memory of the host. */
const MOST_CHARS = 1024 * 1024;
/** Most nested schemas in the source. */
const MOST_NESTING = 100;
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
  const node = compiled(schema);
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

function compiled(schema: unknown): SchemaNode {
  try {
    return new Compiler(schema).compile(schema, '#');
  } catch (cause) {
    if (cause instanceof TooComplex || cause instanceof RangeError)
      throw new UnusableSchema('the values of its enum and const take too much work to check', { cause });
    throw cause;
  }
}

/** Returns a node that wants both, or the one that wants something. */
function bothOf(left: SchemaNode, right: SchemaNode): SchemaNode {
  if (left === ANYTHING) return right;
  return right === ANYTHING ? left : besideNode(left, right);
}

function keywordTypeOf(value: unknown): KeywordType {
  if (Array.isArray(value)) return 'array';
  return (value === null ? 'null' : typeof value) as KeywordType;
}

class Compiler {
  readonly #root: Schema;
  readonly #referred = new Map<string, SchemaNode>();
  /** For the values of `enum` and `const`, which are checked while the schema is compiled. */
  readonly #budget = new Budget();
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
    checkKeywords(schema, at);
    const branches = (keyword: 'anyOf' | 'oneOf' | 'allOf'): SchemaNode[] =>
      (schema[keyword] as unknown[]).map((one, n) => this.compile(one, `${at}/${keyword}/${n}`));
    let node = this.#plain(schema, at);
    if (schema['anyOf'] !== undefined) node = bothOf(node, anyOfNode(branches('anyOf')));
    if (schema['oneOf'] !== undefined) node = bothOf(node, oneOfNode(branches('oneOf')));
    const [first, ...rest] = schema['allOf'] === undefined ? [] : branches('allOf');
    return first ? bothOf(node, rest.reduce(allOfNode, first)) : node;
  }

  /** Compiles a schema without its `anyOf`, `oneOf` and `allOf`. */
  #plain(schema: Schema, at: string): SchemaNode {
    const { not, $ref, enum: list, const: only, type } = schema;
    if (not !== undefined) {
      if (isSchemaObject(not) && Object.keys(not).length === 0) return NOTHING;
      throw new UnusableSchema(`${at}/not cannot be used, except {} for a value that must be absent`);
    }
    if ($ref !== undefined) {
      const { $ref: _, ...beside } = schema;
      return bothOf(this.#reference($ref, at), this.#plain(beside, at));
    }
    if (list !== undefined || only !== undefined) return this.#listed(schema, at);
    if (Array.isArray(type))
      return type.length === 0 ? NOTHING : anyOfNode([...new Set(type)].map((one) => this.#typed(schema, one, at)));
    return type === undefined || type === '' ? this.#untyped(schema, at) : this.#typed(schema, type, at);
  }

  #typed(schema: Schema, type: unknown, at: string): SchemaNode {
    const own = { ...schema, type };
    switch (type) {
      case 'object':
        return objectNode(own, at, this.compile);
      case 'array':
        return arrayNode(own, at, this.compile);
      case 'string':
        return stringNode(own, at);
      case 'number':
      case 'integer':
      case 'boolean':
      case 'null':
        return scalarNode(own, at);
      default:
        throw new UnusableSchema(`${at}/type cannot be used: ${JSON.stringify(type)} is not a type`);
    }
  }

  /** Compiles keywords without a type: each checks the values of its type, and lets all others pass. */
  #untyped(schema: Schema, at: string): SchemaNode {
    const types = (Object.keys(KEYWORDS_OF) as KeywordType[]).filter((type) =>
      KEYWORDS_OF[type].some((keyword) => schema[keyword] !== undefined),
    );
    if (types.length === 0) return ANYTHING;
    const nodes = new Map(types.map((type) => [type, this.#typed(schema, type, at)]));
    return {
      check: (value, budget) => nodes.get(keywordTypeOf(value))?.check(value, budget) ?? FINE,
    };
  }

  /** Compiles `enum` and `const`. Values that another keyword refuses are left out, so none is checked later. */
  #listed(schema: Schema, at: string): SchemaNode {
    const { enum: list, const: only, ...beside } = schema;
    const all = (list ?? [only]) as unknown[];
    const others = [
      this.#plain(beside, at),
      ...(list !== undefined && only !== undefined ? [valuesNode([only], at)] : []),
    ];
    const values = all.filter((value) => others.every((one) => one.check(value, this.#budget).issues.length === 0));
    if (values.length === all.length && all.every(isScalar)) return scalarNode(schema, at);
    return values.length === 0 ? NOTHING : valuesNode(values, at);
  }

  #reference(reference: unknown, at: string): SchemaNode {
    const name = String(reference);
    const known = this.#referred.get(name);
    if (known) return known;
    let target: SchemaNode | undefined;
    // Registered before it is compiled, because it may refer to itself.
    let isAsked = false;
    const ask = (fact: 'mayBeAbsent' | 'isNever'): boolean => {
      if (isAsked) return false; // it refers to itself
      isAsked = true;
      const answer = target?.[fact] === true;
      isAsked = false;
      return answer;
    };
    const node: SchemaNode = {
      get mayBeAbsent() {
        return ask('mayBeAbsent');
      },
      get isNever() {
        return ask('isNever');
      },
      check(value, budget) {
        if (!target) throw new UnusableSchema(`${at}: enum and const cannot be checked by what they are a part of`);
        budget.spend(1);
        budget.enter();
        const finding = target.check(value, budget);
        budget.leave();
        return finding;
      },
    };
    this.#referred.set(name, node);
    target = this.compile(this.#resolved(name, at), name);
    return node;
  }

  #resolved(name: string, at: string): unknown {
    if (name === '#' || name === '') return this.#root;
    const [kind = '', key, ...more] = pointerKeys(name) ?? [];
    const all = kind === '$defs' || kind === 'definitions' ? this.#root[kind] : undefined;
    if (key !== undefined && more.length === 0 && isSchemaObject(all) && Object.hasOwn(all, key)) return all[key];
    throw new UnusableSchema(`${at}/$ref: there is no ${JSON.stringify(name)} in the schema`);
  }
}
