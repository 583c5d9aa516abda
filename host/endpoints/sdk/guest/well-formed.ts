/**
 * Returns functions that take half of a surrogate pair as U+FFFD, as those of the web do. A component cannot pass such
 * a half on, so its run would end in a trap.
 */
export function wellFormed<T extends object>(functions: T): T {
  const wrapped = Object.entries(functions).map(([name, call]) => [
    name,
    (...args: unknown[]) => call(...args.map(whole)),
  ]);
  return Object.fromEntries(wrapped) as T;
}

/** Returns a text without halves of surrogate pairs. */
export const wellFormedText = (text: string): string => (text as string & { toWellFormed(): string }).toWellFormed();

function whole(value: unknown): unknown {
  if (typeof value === 'string') return wellFormedText(value);
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map(whole);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, whole(member)]));
}
