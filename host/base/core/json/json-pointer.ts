/**
 * Returns the keys of a JSON pointer in the fragment of a `$ref`, such as `#/components/schemas/Error` (RFC 6901,
 * section 6). Returns undefined for a reference to another document.
 */
export function pointerKeys(reference: string): readonly string[] | undefined {
  if (reference === '#') return [];
  if (!reference.startsWith('#/')) return undefined;
  return reference
    .slice(2)
    .split('/')
    .map((key) => percentDecoded(key).replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Returns the value at a pointer inside `root`; undefined if there is none. Inherited members do not count. */
export function valueAt(root: unknown, reference: string): unknown {
  return pointerKeys(reference)?.reduce<unknown>(
    (at, key) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, key)
        ? (at as Record<string, unknown>)[key]
        : undefined,
    root,
  );
}

/** Returns a key with its percent-encoding decoded, or as it is written if the encoding is wrong. */
function percentDecoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
