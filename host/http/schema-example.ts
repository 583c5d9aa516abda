type Schema = Readonly<Record<string, unknown>>;

/**
 * A small value that fits a schema, for documentation: given examples and defaults first, else one made from the type. A file is
 * named like the top-level key that it stands under.
 */
export function schemaExample(schema: object): unknown {
  return exampleOf({ root: schema as Schema, file: 'file' }, schema as Schema, 0);
}

interface At {
  readonly root: Schema;
  /** What a file part is called here. */
  readonly file: string;
}

function exampleOf(at: At, schema: Schema, depth: number): unknown {
  if (depth > 16) return null;
  if (schema['default'] !== undefined) return schema['default'];
  if (typeof schema['$ref'] === 'string') return exampleOf(at, resolve(at.root, schema['$ref']), depth + 1);
  if (schema['const'] !== undefined) return schema['const'];
  if (Array.isArray(schema['examples']) && schema['examples'].length > 0) return schema['examples'][0];
  if (schema['example'] !== undefined) return schema['example'];
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  for (const keyword of ['anyOf', 'oneOf']) {
    const branches = schema[keyword];
    if (!Array.isArray(branches)) continue;
    const branch = (branches as Schema[]).find((one) => one['type'] !== 'null');
    return branch ? exampleOf(at, branch, depth + 1) : null;
  }
  return exampleOfType(at, schema, depth);
}

function exampleOfType(at: At, schema: Schema, depth: number): unknown {
  switch (Array.isArray(schema['type']) ? schema['type'][0] : schema['type']) {
    case 'object':
      return exampleObject(at, schema, depth);
    case 'array':
      return isSchema(schema['items']) ? [exampleOf(at, schema['items'], depth + 1)] : [];
    case 'string':
      return schema['format'] === 'uri' ? 'https://example.com' : 'string';
    case 'integer':
      return typeof schema['minimum'] === 'number' ? Math.max(0, schema['minimum']) : 0;
    case 'number':
      return typeof schema['minimum'] === 'number' ? Math.max(0, schema['minimum']) : 0;
    case 'boolean':
      return true;
    default:
      return null;
  }
}

/** Required keys, and a file reference where there is one: of several ways to give a media, uploading works everywhere. */
function exampleObject(at: At, schema: Schema, depth: number): Record<string, unknown> {
  const properties = isSchema(schema['properties']) ? (schema['properties'] as Record<string, Schema>) : {};
  const required = new Set(Array.isArray(schema['required']) ? (schema['required'] as string[]) : []);
  const wanted = Object.entries(properties).filter(([key, inner]) => required.has(key) || isFileReference(inner));
  return Object.fromEntries(wanted.map(([key, inner]) => [key, isFileReference(inner) ? at.file : exampleOf(depth === 0 ? { ...at, file: key } : at, inner, depth + 1)]));
}

function isFileReference(schema: Schema): boolean {
  if (schema['x-aana-file'] === true) return true;
  return ['anyOf', 'oneOf'].some((keyword) => Array.isArray(schema[keyword]) && (schema[keyword] as Schema[]).some(isFileReference));
}

function resolve(root: Schema, reference: string): Schema {
  const keys = reference.split('/').slice(1);
  const found = keys.reduce<unknown>((at, key) => (isSchema(at) ? at[key] : undefined), root);
  return isSchema(found) ? found : {};
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
