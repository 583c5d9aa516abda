import type { SchemaIssue } from '../schemas/index.ts';

/** What is wrong at one place, as zod says it: `validationEntries` makes what clients see of it. */
export interface Issue extends SchemaIssue {
  readonly path: PropertyKey[];
  /** Whether what follows is checked all the same: a text that is too short is still a text. */
  readonly continue?: boolean | undefined;
}

/** What a schema says of a value. Nothing wrong: no issues. */
export interface Finding {
  readonly issues: readonly Issue[];
  /** Whether the value is of another form than the schema wants, whatever the issues say. */
  readonly aborted?: boolean;
}

export const FINE: Finding = { issues: [] };

/** Steps for one issue; values with many of them are the work of whoever wants to keep the server busy. */
export const ISSUE_STEPS = 100;

/**
 * An issue at the place where the schema stands. What zod says by itself begins with "Invalid", and is put in our words
 * later.
 */
export function issueOf(
  code: string,
  facts: Readonly<Record<string, unknown>> & { readonly message?: string; readonly continue?: boolean },
): Issue {
  return { message: 'Invalid input', path: [], ...facts, code };
}

/** Whether the value is of another form than the schema wants. */
export function isAborted({ issues, aborted = false }: Finding): boolean {
  return aborted || issues.some((issue) => issue.continue !== true);
}

/** The issues as the parent of the place `key` has them. They are changed. */
export function under(key: PropertyKey, issues: readonly Issue[]): readonly Issue[] {
  for (const issue of issues) issue.path.unshift(key);
  return issues;
}
