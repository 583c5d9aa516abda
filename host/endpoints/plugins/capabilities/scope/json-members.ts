import { type AanaError, fail } from '../../../../base/core/errors.ts';

/** Returns the value of a JSON text in a guest's record. `what` names the text in the error. */
export function jsonValue(json: string, what: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw invalid(`${what} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Returns the members of a JSON object in a guest's record. None when the text is absent. */
export function jsonMembers(json: string | undefined, what: string): Record<string, unknown> {
  if (json === undefined) return {};
  const value = jsonValue(json, what);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(`${what} is not a JSON object`);
  return { ...value };
}

/** Returns the members that are there. */
export function given(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/**
 * Returns the members of a record together with those of its JSON text `more`. Throws for a parameter that `more` has
 * although the record has a member for it, because one of the two values would be lost.
 */
export function withMore(
  members: Readonly<Record<string, unknown>>,
  more: string | undefined,
  what: string,
): Record<string, unknown> {
  const others = jsonMembers(more, what);
  const twice = Object.keys(others).find((key) => Object.hasOwn(members, key));
  if (twice !== undefined) throw invalid(`${what} has ${twice}, which is a member of the record`);
  return { ...others, ...given(members) };
}

export const invalid = (message: string): AanaError => fail('InvalidArguments', message);
