import { fail } from '../../base/core/errors.ts';
import { valueAt } from '../../base/core/json/json-pointer.ts';
import { matchPath, pathParametersOf } from '../../base/core/net/route-paths.ts';
import { ENDPOINT_METHOD } from '../../base/schemas/index.ts';
import { type ServedEndpoint, validationError } from './endpoint.ts';
import { fileKeys } from './file-references.ts';
import { isObject, listOf, type Schema } from './visit-values.ts';

type Routed = Pick<ServedEndpoint, 'name' | 'path' | 'inputSchema'>;

/** The method of the requests that run an endpoint. HEAD runs one with GET, too. */
export function methodOf({ inputSchema }: Pick<Routed, 'inputSchema'>): 'GET' | 'POST' {
  return (inputSchema as Schema)[ENDPOINT_METHOD] === 'get' ? 'GET' : 'POST';
}

/** Throws `EndpointError` for an endpoint whose parameters cannot be texts of a path or a query. */
export function checkParameters({ name, path, inputSchema }: Routed): void {
  const wrong = (what: string): Error => fail('EndpointError', `endpoint ${name}: ${what}`);
  const method = (inputSchema as Schema)[ENDPOINT_METHOD];
  if (method !== undefined && method !== 'get' && method !== 'post')
    throw wrong(`its method is get or post, not ${JSON.stringify(method)?.slice(0, 64)}`);
  const inPath = pathParametersOf(path);
  if (new Set(inPath).size < inPath.length) throw wrong(`the path ${path} has two parameters of one name`);
  const properties = propertiesOf(inputSchema);
  for (const key of inPath) {
    const kinds = Object.hasOwn(properties, key) ? kindsOfKey(inputSchema as Schema, key).own : undefined;
    if (!kinds) throw wrong(`its input has no key ${key}, which is a parameter of the path ${path}`);
    if (![...kinds].some((kind) => TEXT_KINDS.has(kind)))
      throw wrong(`the key ${key} of its input is a parameter of the path, and no text, number or boolean`);
  }
  if (method !== 'get') return;
  const [file] = fileKeys(inputSchema);
  if (file !== undefined) throw wrong(`a request with GET has no files, and the key ${file} of its input names one`);
  for (const key of Object.keys(properties)) {
    const { own, items = [] } = kindsOfKey(inputSchema as Schema, key);
    if (![...own, ...items].some((kind) => TEXT_KINDS.has(kind)))
      throw wrong(`the key ${key} of its input cannot be in a query: it is no text, number, boolean or list of them`);
  }
}

/** Returns the input of a request with GET: the parameters of its path and its query. Throws `ValidationError`. */
export function inputOfQuery(endpoint: Routed, path: string, query: URLSearchParams): unknown {
  const root = endpoint.inputSchema as Schema;
  const properties = propertiesOf(root);
  const all = new Map<string, string[]>();
  for (const [key, text] of query) {
    const texts = all.get(key);
    if (texts) texts.push(text);
    else all.set(key, [text]);
  }
  const entries = [...all].map(([key, texts]): [string, unknown] => {
    if (!Object.hasOwn(properties, key)) return [key, texts.length === 1 ? texts[0] : texts];
    const { own, items } = kindsOfKey(root, key);
    if (items) return [key, texts.map((text) => valueOf(text, items))];
    return [key, texts.length === 1 ? valueOf(texts[0]!, own) : texts];
  });
  return withPathParameters(endpoint, path, Object.fromEntries(entries));
}

/**
 * Returns an input with the parameters of the path of its request. Throws `ValidationError` for an input that has one
 * of them itself.
 */
export function withPathParameters({ path: template, inputSchema }: Routed, path: string, input: unknown): unknown {
  const texts = matchPath(template, path);
  if (!texts || texts.size === 0 || !isObject(input)) return input;
  const root = inputSchema as Schema;
  const twice = [...texts.keys()].filter((key) => Object.hasOwn(input, key));
  if (twice.length > 0)
    throw validationError(
      twice.map((key) => ({
        ...{ type: 'extra_forbidden', loc: [key], msg: 'The path of the request has this parameter' },
        input: input[key],
      })),
    );
  const values = [...texts].map(([key, text]) => [key, valueOf(text, kindsOfKey(root, key).own)] as const);
  return { ...input, ...Object.fromEntries(values) };
}

const TEXT_KINDS: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean']);
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/** Returns the value that a text stands for. A text that is no such value stays one, and the schema refuses it. */
function valueOf(text: string, kinds: ReadonlySet<unknown>): unknown {
  // Where a text is allowed, too, it is one unless no digit of it is lost, as of 007 or of more than 2⁵³.
  const isNumber = NUMBER.test(text) && (!kinds.has('string') || String(Number(text)) === text);
  if ((kinds.has('number') || kinds.has('integer')) && isNumber) return Number(text);
  if (kinds.has('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

function propertiesOf(schema: object): Schema {
  const { properties } = schema as { readonly properties?: unknown };
  return isObject(properties) ? properties : {};
}

/** The JSON types that a key of an input allows, as far as its schema names them. */
interface Kinds {
  readonly own: ReadonlySet<unknown>;
  /** Those of its elements, if it may be an array. */
  readonly items?: ReadonlySet<unknown>;
}

/** The types of keys, by the schema of their input, because each request asks for them. */
const known = new WeakMap<Schema, Map<string, Kinds>>();

function kindsOfKey(root: Schema, key: string): Kinds {
  const ofRoot = known.get(root) ?? new Map<string, Kinds>();
  known.set(root, ofRoot);
  const found = ofRoot.get(key);
  if (found) return found;
  const branches = branchesIn(root, [propertiesOf(root)[key]]);
  const own = kindsOf(branches);
  const items = branchesIn(
    root,
    branches.map((schema) => schema['items']),
  );
  const kinds: Kinds = { own, ...(own.has('array') && { items: kindsOf(items) }) };
  ofRoot.set(key, kinds);
  return kinds;
}

function kindsOf(branches: readonly Schema[]): Set<unknown> {
  const kinds = new Set<unknown>();
  for (const schema of branches) {
    for (const type of [schema['type']].flat()) if (type !== undefined) kinds.add(type);
    const values = 'const' in schema ? [schema['const']] : listOf(schema['enum']);
    for (const value of values) kinds.add(typeof value);
  }
  return kinds;
}

/** Returns schemas, what they refer to, and the branches of their unions, each once. */
function branchesIn(root: Schema, from: readonly unknown[]): Schema[] {
  const found = new Set<Schema>();
  const open = [...from];
  for (const schema of open) {
    if (!isObject(schema) || found.has(schema)) continue;
    found.add(schema);
    for (const keyword of ['anyOf', 'oneOf', 'allOf']) for (const one of listOf(schema[keyword])) open.push(one);
    if (typeof schema['$ref'] === 'string') open.push(valueAt(root, schema['$ref']));
  }
  return [...found];
}
