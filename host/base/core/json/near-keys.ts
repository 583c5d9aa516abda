import { distance } from 'fastest-levenshtein';

/** At most this many keys are suggested. */
const MOST = 3;
/**
 * A longer unknown key has no suggestion, because clients choose its length and comparing takes time for each
 * character.
 */
const MAX_LENGTH = 64;

/**
 * Returns the keys that a person may have meant by an unknown one, the most similar first, at most three: keys that
 * differ by a typing mistake, and keys of which one is at least half of the other. Of a path with dots, the last part
 * is compared.
 */
export function nearKeys(unknown: string, keys: Iterable<string>): string[] {
  if (unknown.length > MAX_LENGTH) return [];
  const wanted = unknown.toLowerCase();
  const near: { readonly name: string; readonly distance: number }[] = [];
  for (const name of new Set(keys)) {
    const known = name.slice(name.lastIndexOf('.') + 1).toLowerCase();
    const apart = distance(wanted, known);
    const [shorter, longer] = wanted.length < known.length ? [wanted, known] : [known, wanted];
    const isContained = shorter.length >= 4 && shorter.length >= longer.length / 2 && longer.includes(shorter);
    if (isContained || apart <= Math.ceil(wanted.length / 3)) near.push({ name, distance: apart });
  }
  return near
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, MOST)
    .map(({ name }) => name);
}

/**
 * Returns `; did you mean "a" or "b"?` with keys beside the unknown one, else with keys elsewhere, or nothing if no key
 * is near.
 * @param at the place of the unknown key, without the key
 * @param paths all keys, as paths with dots
 */
export function suggestion(unknown: string, at: readonly (string | number)[], paths: readonly string[]): string {
  const prefix = at.map((part) => `${part}.`).join('');
  const beside = paths.filter((path) => path.startsWith(prefix) && !path.slice(prefix.length).includes('.'));
  const near = nearKeys(unknown, beside);
  const named = (near.length > 0 ? near : nearKeys(unknown, paths)).map((name) => `"${name}"`);
  return named.length === 0 ? '' : `; did you mean ${named.join(' or ')}?`;
}
