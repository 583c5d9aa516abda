import * as z from 'zod';
import { excess, type JsonLimits } from '../../../base/core/json/read-json.ts';
import { invalidValue } from '../fields.ts';

/** A text part of a form. */
export interface FormText {
  /** Such as `model`, `include[]` or `chunking_strategy[type]`. */
  readonly name: string;
  readonly text: string;
}

/** The parts of one parameter: the key in brackets, which is undefined for a name without brackets. */
type Parts = readonly { readonly key: string | undefined; readonly text: string }[];
type Json = Readonly<Record<string, unknown>>;

const NAME = /^([^[\]]+)\[([^[\]]*)\]$/;
const INDEX = /^\d*$/;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
  ['1', true],
  ['0', false],
]);

/**
 * Returns a function that makes the input of a request from the text parts of its form. Texts become the numbers,
 * booleans, lists and objects that the JSON Schema of `schema` asks for, and others stay as they are. Lists are parts
 * `name[]`, repeated parts, or JSON within the limits; objects are parts `name[key]`, or JSON. An empty part is left
 * out. The function throws `InvalidParameter` for a parameter with several values that is no list.
 */
export function formReader(
  schema: z.ZodType,
  limits: JsonLimits,
): (parts: readonly FormText[]) => Record<string, unknown> {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return (texts) => {
    const parameters = new Map<string, { key: string | undefined; text: string }[]>();
    for (const { name, text } of texts) {
      const [, base = name, key] = NAME.exec(name) ?? [];
      parameters.set(base, [...(parameters.get(base) ?? []), { key, text }]);
    }
    const entries = [...parameters].map(([name, parts]): [string, unknown] => [
      name,
      valueOf(name, parts, { name, schema: Object.hasOwn(properties, name) ? (properties[name] as Json) : {}, limits }),
    ]);
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  };
}

/** What a text of a parameter becomes. */
interface Target {
  readonly name: string;
  readonly schema: Json;
  readonly limits: JsonLimits;
}

function valueOf(name: string, parts: Parts, target: Target): unknown {
  const { schema } = target;
  const [first] = parts;
  if (first && parts.length === 1 && first.key === undefined)
    return first.text === '' ? undefined : converted(first.text, target);
  const list = branchOf(schema, 'array');
  if (parts.every(({ key }) => (key === undefined ? list !== undefined : INDEX.test(key))))
    return parts.map(({ text }) => converted(text, { ...target, schema: (list?.['items'] as Json | undefined) ?? {} }));
  const members = (branchOf(schema, 'object')?.['properties'] ?? {}) as Readonly<Record<string, Json>>;
  const keys = new Set(parts.map(({ key }) => key));
  if (keys.has(undefined) || keys.size < parts.length)
    throw invalidValue(name, 'more than one part of the form has this name');
  return Object.fromEntries(
    parts.map(({ key = '', text }) => [
      key,
      converted(text, { ...target, schema: Object.hasOwn(members, key) ? members[key]! : {} }),
    ]),
  );
}

/** Returns a text as the value that the schema asks for, or the text if it is no such value. */
function converted(text: string, target: Target): unknown {
  const { schema } = target;
  const list = branchOf(schema, 'array');
  const looksLikeJson = (list && text.startsWith('[')) || (branchOf(schema, 'object') && text.startsWith('{'));
  if (looksLikeJson) return parsedJson(text, target);
  if (list) return [converted(text, { ...target, schema: (list['items'] as Json | undefined) ?? {} })];
  if ((branchOf(schema, 'number') || branchOf(schema, 'integer')) && NUMBER.test(text)) return Number(text);
  if (branchOf(schema, 'boolean')) return BOOLEANS.get(text.toLowerCase()) ?? text;
  return text;
}

function parsedJson(text: string, { name, limits }: Target): unknown {
  const why = excess(text, limits);
  if (why !== undefined) throw invalidValue(name, why);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Returns the branch of a schema that describes values of a type. */
function branchOf(schema: Json, type: string): Json | undefined {
  if ([schema['type']].flat().includes(type)) return schema;
  const branches = Array.isArray(schema['anyOf']) ? (schema['anyOf'] as readonly Json[]) : [];
  return branches.map((branch) => branchOf(branch, type)).find((found) => found !== undefined);
}
