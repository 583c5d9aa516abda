import { ALL_TYPES, typesIn } from './disjoint.ts';
import { Rules } from './gbnf.ts';
import { refuse, UnusableParameters, UnusableStructure } from './refusal.ts';
import { SchemaGrammar } from './schema-grammar.ts';
import { asSchema, isObject, type Schema, type SchemaObject, type TypeName } from './schema-keywords.ts';
import { propertiesOf } from './schema-merge.ts';
import { textRule } from './text-rule.ts';

/** Begins the names of all rules. No rule that llama.cpp makes for calls begins so. */
const PREFIX = 'args-';
/** llama.cpp writes the grammar of calls out of these rules, and larger counts make it explode. */
const MOST_REPEATED = 1000;

/** A function that a model may call. */
export interface Callable {
  readonly name: string;
  /** A JSON Schema of the arguments. */
  readonly parameters: unknown;
  /**
   * Whether the function is refused when no grammar can express its parameters. Otherwise they bind as far as they can.
   */
  readonly isBound: boolean;
}

/** Names of the rules for the arguments of a function. */
export interface ArgumentRules {
  /** The JSON object of all arguments. */
  readonly all: string;
  /** The JSON value of each argument. */
  readonly values: Readonly<Record<string, string>>;
  /** The text, without quotes, of each argument that is a string of a restricted form. It has no `<`. */
  readonly texts: Readonly<Record<string, string>>;
  /** A JSON Schema that has the names and the types of the arguments and nothing else. */
  readonly outline: SchemaObject;
  /** JSON pointers to the keywords of the parameters that do not bind the arguments. */
  readonly unbound: readonly string[];
}

export interface CallRules {
  /** Rules of a grammar, without a root. */
  readonly rules: string;
  readonly functions: Readonly<Record<string, ArgumentRules>>;
}

/**
 * Returns rules of a grammar for the arguments of functions. Throws `UnusableParameters`, which names the function, the
 * place and the keyword, for parameters that no grammar can express.
 */
export function callRules(functions: readonly Callable[]): CallRules {
  const rules = new Rules(PREFIX);
  const each = functions.map((one, index) => [one.name, rulesOf(one, index, rules)] as const);
  return { functions: Object.fromEntries(each), rules: rules.text() };
}

function rulesOf({ name, parameters, isBound }: Callable, index: number, rules: Rules): ArgumentRules {
  try {
    return argumentRules(asArguments(parameters), rules, !isBound);
  } catch (error) {
    if (!(error instanceof UnusableStructure)) throw error;
    if (isBound) throw new UnusableParameters(index, `the parameters of ${JSON.stringify(name)}: ${error.message}`);
    return { ...argumentRules({ type: 'object' }, rules, true), unbound: ['#'] };
  }
}

/**
 * Returns parameters as the schema of an object. Without `additionalProperties`, there are only the named properties.
 */
function asArguments(parameters: unknown): SchemaObject {
  if (!isObject(parameters)) refuse('#', 'it is not a schema of an object');
  const { type = 'object', additionalProperties, properties } = parameters;
  if (![type].flat().includes('object')) refuse('#/type', 'arguments are an object');
  const isClosed = properties !== undefined && additionalProperties === undefined;
  return { ...parameters, type: 'object', ...(isClosed && { additionalProperties: false }) };
}

function argumentRules(schema: SchemaObject, rules: Rules, isLoose: boolean): ArgumentRules {
  const grammar = new SchemaGrammar(schema, { rules, isLoose, mostRepeated: MOST_REPEATED });
  const all = grammar.ruleOf(schema, '#');
  if (all === undefined) refuse('#', 'no value is possible');
  const flat = loosely(() => grammar.flat(schema, '#'), schema);
  const object = typeof flat === 'boolean' ? {} : flat;
  const values = new Map<string, string>();
  const texts = new Map<string, string>();
  const outlines = new Map<string, SchemaObject>();
  for (const [name, value] of Object.entries(propertiesOf(object))) {
    const at = `#/properties/${name}`;
    const part = asSchema(value, at);
    const rule = grammar.ruleOf(part, at);
    if (rule === undefined) continue;
    values.set(name, rule);
    const types = typesOf(grammar, part, at);
    const text = types.length === 1 && types[0] === 'string' ? textRule(grammar, rules, part, at) : undefined;
    if (text !== undefined) texts.set(name, text);
    outlines.set(name, types.length === ALL_TYPES.length ? {} : { type: types.length === 1 ? types[0] : types });
  }
  const required = namesOf(object['required']).filter((name) => outlines.has(name));
  return {
    all,
    values: Object.fromEntries(values),
    texts: Object.fromEntries(texts),
    outline: { type: 'object', properties: Object.fromEntries(outlines), required },
    unbound: grammar.unbound,
  };
}

const namesOf = (names: unknown): readonly string[] =>
  Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];

/** Returns the types that the values of a part of a schema may have. */
function typesOf(grammar: SchemaGrammar, part: Schema, at: string): readonly TypeName[] {
  return loosely(() => {
    const flat = grammar.flat(part, at);
    if (typeof flat === 'boolean') return ALL_TYPES;
    const { anyOf, oneOf } = flat as { readonly anyOf?: readonly Schema[]; readonly oneOf?: readonly Schema[] };
    const options = anyOf ?? oneOf;
    if (!options || flat['type'] !== undefined) return [...new Set(typesIn(flat))];
    return [...new Set(options.flatMap((option) => typesOf(grammar, option, at)))];
  }, ALL_TYPES);
}

/** Returns a result, or `otherwise` where the schema cannot be expressed. */
function loosely<Result>(get: () => Result, otherwise: Result): Result {
  try {
    return get();
  } catch (error) {
    if (error instanceof UnusableStructure || error instanceof RangeError) return otherwise;
    throw error;
  }
}
