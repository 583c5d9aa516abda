import { FILE_REFERENCE } from '../../base/schemas/index.ts';
import { branchesOf, isObject, listOf, mentions, type Schema, visitValues } from './visit-values.ts';

export interface FileReference {
  /** Field name of the file part. */
  readonly name: string;
  /** Path from the root of the input. */
  readonly loc: readonly (string | number)[];
}

/**
 * Returns the strings of `input` at places that the schema marks as names of uploaded files. `input` matches the
 * schema. Throws `ValidationError` if the search takes too much work.
 */
export function findFileReferences(schema: object, input: unknown): FileReference[] {
  if (!mentions(schema, FILE_REFERENCE)) return [];
  const found: FileReference[] = [];
  visitValues(schema, input, branchesOf, (schemas, value, loc) => {
    if (typeof value === 'string' && schemas.some((one) => one[FILE_REFERENCE] === true))
      found.push({ name: value, loc });
  });
  return found;
}

/** Returns the top-level keys of an input under which a file can be named. */
export function fileKeys(schema: object): string[] {
  const root = schema as Schema;
  const properties = isObject(root['properties']) ? root['properties'] : {};
  /** Schemas that are known to lead to no file. */
  const plain = new Set<Schema>();
  return Object.keys(properties).filter((key) => leadsToFile(root, properties[key], plain));
}

function leadsToFile(root: Schema, from: unknown, plain: Set<Schema>): boolean {
  const seen = new Set<Schema>();
  const waiting = [from];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (!isObject(next) || seen.has(next) || plain.has(next)) continue;
    if (next[FILE_REFERENCE] === true) return true;
    seen.add(next);
    const properties = isObject(next['properties']) ? Object.values(next['properties']) : [];
    waiting.push(
      ...branchesOf(root, next),
      ...listOf(next['prefixItems']),
      ...properties,
      next['items'],
      next['additionalProperties'],
    );
  }
  for (const one of seen) plain.add(one);
  return false;
}
