import type { Budget } from './budget.ts';
import { type Finding, FINE } from './issues.ts';

/** A compiled schema. */
export interface SchemaNode {
  check(value: unknown, budget: Budget): Finding;
  /** Whether a required key with this schema may be missing, because it has a default. */
  readonly mayBeAbsent?: boolean;
  /** Whether no value is valid. */
  readonly isNever?: boolean;
}

/** A schema that every value matches. */
export const ANYTHING: SchemaNode = { check: () => FINE };

/** A JSON Schema, or a part of one. */
export type Schema = Readonly<Record<string, unknown>>;

/** Compiles a part of a schema. `at` is its place, such as `#/properties/name`. */
export type Compile = (schema: unknown, at: string) => SchemaNode;

/** Thrown for a schema that cannot be used. The message names the place and the keyword. */
export class UnusableSchema extends Error {
  override readonly name = 'UnusableSchema';
}

export function isSchemaObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
