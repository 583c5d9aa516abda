import type { oas31 } from 'openapi3-ts';

type Schema = Readonly<Record<string, unknown>>;

const PREFIX = '#/components/schemas/';
/** Keywords that name a schema in its own document. In a component the component has the name. */
const OWN_NAMES = new Set(['$schema', '$id', 'id']);

/** Returns a name in the style of the original for models: `TranscribeVideo` for `transcribe_video`. */
export function pascalCase(name: string): string {
  return name.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9]?)/g, (_, first: string) => first.toUpperCase());
}

/**
 * The schemas of a document's components. Each JSON Schema that is added becomes a component, and so does each of its
 * definitions. A definition keeps its name if the name is free or already has the same schema.
 */
export class SchemaComponents {
  readonly #add: (name: string, schema: oas31.SchemaObject) => void;
  /** The schema under each name as it was given, with the definitions that it leads to. */
  readonly #taken = new Map<string, string>();

  constructor(add: (name: string, schema: oas31.SchemaObject) => void) {
    this.#add = add;
  }

  /** Adds a component whose references already lead to components. */
  put(name: string, schema: oas31.SchemaObject): oas31.ReferenceObject {
    this.#taken.set(name, JSON.stringify(schema));
    this.#add(name, schema);
    return { $ref: `${PREFIX}${name}` };
  }

  /** Adds a JSON Schema that has its own definitions and references. */
  add(wanted: string, schema: object): oas31.ReferenceObject {
    const { $defs, ...root } = schema as Schema;
    const definitions = isSchema($defs) ? ($defs as Record<string, Schema>) : {};
    const text = JSON.stringify([root, definitions]);
    const name = this.#free([wanted], text);
    if (!this.#reserve(name, text)) return { $ref: `${PREFIX}${name}` };
    const names = new Map<string, string>();
    const added: [key: string, name: string][] = [];
    for (const key of Object.keys(definitions)) {
      const own = /^__schema\d+$/.test(key) ? `${name}${key.slice(2).replace('schema', 'Part')}` : pascalCase(key);
      const reached = reachable(key, definitions);
      const inner = this.#free([own, `${name}${own}`], reached);
      names.set(key, inner);
      if (this.#reserve(inner, reached)) added.push([key, inner]);
    }
    const moved = (value: Schema): oas31.SchemaObject => movedReferences(value, name, names) as oas31.SchemaObject;
    this.#add(name, moved(root));
    for (const [key, inner] of added) this.#add(inner, moved(definitions[key] ?? {}));
    return { $ref: `${PREFIX}${name}` };
  }

  #free(wanted: readonly string[], text: string): string {
    const isFree = (name: string): boolean => !this.#taken.has(name) || this.#taken.get(name) === text;
    const found = wanted.find((name) => name !== '' && isFree(name));
    if (found !== undefined) return found;
    for (let n = 2; ; n++) if (isFree(`${wanted.at(-1)}${n}`)) return `${wanted.at(-1)}${n}`;
  }

  /** Returns false if the name already has the same schema. */
  #reserve(name: string, text: string): boolean {
    const isNew = !this.#taken.has(name);
    this.#taken.set(name, text);
    return isNew;
  }
}

/** Returns a definition and all definitions that it leads to, as text to compare. */
function reachable(key: string, definitions: Readonly<Record<string, Schema>>): string {
  const seen = new Set<string>();
  const visit = (at: string): void => {
    if (seen.has(at) || !Object.hasOwn(definitions, at)) return;
    seen.add(at);
    for (const [, next] of JSON.stringify(definitions[at]).matchAll(/"\$ref":"#\/\$defs\/([^"/]+)/g)) visit(next ?? '');
  };
  visit(key);
  return JSON.stringify([...seen].sort().map((name) => [name, definitions[name]]));
}

function movedReferences(value: unknown, name: string, names: ReadonlyMap<string, string>, isRoot = true): unknown {
  if (Array.isArray(value)) return value.map((inner) => movedReferences(inner, name, names, false));
  if (!isSchema(value)) return value;
  const entries = Object.entries(value).filter(([key]) => !isRoot || !OWN_NAMES.has(key));
  return Object.fromEntries(
    entries.map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string'
        ? movedReference(inner, name, names)
        : movedReferences(inner, name, names, false),
    ]),
  );
}

function movedReference(reference: string, name: string, names: ReadonlyMap<string, string>): string {
  if (!reference.startsWith('#')) return reference;
  const [, definition, rest] = /^#\/\$defs\/([^/]+)(.*)$/.exec(reference) ?? [];
  const moved = definition === undefined ? undefined : names.get(definition);
  return moved === undefined ? `${PREFIX}${name}${reference.slice(1)}` : `${PREFIX}${moved}${rest}`;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
