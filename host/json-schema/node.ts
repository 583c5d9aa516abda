import type { Budget } from './budget.ts';
import type { Finding } from './issues.ts';

/** A compiled schema. */
export interface SchemaNode {
  check(value: unknown, budget: Budget): Finding;
  /** Whether a key whose value it is may be left out though it is required, since there is a default. */
  readonly mayBeAbsent?: boolean;
  /** Whether no value fits. */
  readonly isNever?: boolean;
}

/** A JSON Schema, or a part of one. */
export type Schema = Readonly<Record<string, unknown>>;

/** Compiles a part of a schema; `at` is its place, such as `#/properties/name`. */
export type Compile = (schema: unknown, at: string) => SchemaNode;

/** A schema that cannot be used: the message names the place and the keyword. */
export class UnusableSchema extends Error {
  override readonly name = 'UnusableSchema';
}

export function isSchemaObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
