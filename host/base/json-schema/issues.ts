import type { SchemaIssue } from '../schemas/index.ts';

/** One fault in the form of zod. `validationEntries` translates it for clients. */
export interface Issue extends SchemaIssue {
  readonly path: PropertyKey[];
  /** Whether further checks continue. For example, a text that is too short is still a text. */
  readonly continue?: boolean | undefined;
}

/** The result of checking a value. A valid value has no issues. */
export interface Finding {
  readonly issues: readonly Issue[];
  /** Whether the value has another form than the schema wants, independent of the issues. */
  readonly aborted?: boolean;
}

export const FINE: Finding = { issues: [] };

/** Steps for one issue. They are expensive, because values with many issues could be an attack. */
export const ISSUE_STEPS = 100;

/**
 * Creates an issue at the place of the schema. A message that begins with "Invalid" is zod's default and is replaced
 * later.
 */
export function issueOf(
  code: string,
  facts: Readonly<Record<string, unknown>> & { readonly message?: string; readonly continue?: boolean },
): Issue {
  return { message: 'Invalid input', path: [], ...facts, code };
}

/** Returns whether the value has another form than the schema wants. */
export function isAborted({ issues, aborted = false }: Finding): boolean {
  return aborted || issues.some((issue) => issue.continue !== true);
}

/** Adds `key` at the front of the issues' paths, and returns the same issues. */
export function under(key: PropertyKey, issues: readonly Issue[]): readonly Issue[] {
  for (const issue of issues) issue.path.unshift(key);
  return issues;
}
