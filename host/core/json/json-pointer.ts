/**
 * The keys of a JSON pointer that is the fragment of a `$ref`, such as `#/components/schemas/Error` (RFC 6901, section
 * 6). Undefined for a reference that leads out of its document.
 */
export function pointerKeys(reference: string): readonly string[] | undefined {
  if (reference === '#') return [];
  if (!reference.startsWith('#/')) return undefined;
  return reference
    .slice(2)
    .split('/')
    .map((key) => percentDecoded(key).replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The value at a pointer inside `root`; undefined where there is none. Inherited members are not looked at. */
export function valueAt(root: unknown, reference: string): unknown {
  return pointerKeys(reference)?.reduce<unknown>(
    (at, key) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, key)
        ? (at as Record<string, unknown>)[key]
        : undefined,
    root,
  );
}

/** A key that is not percent-encoded properly is taken as it is written. */
function percentDecoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
