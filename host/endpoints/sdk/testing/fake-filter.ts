import type { Metadata, MetadataValue, VectorFilter } from '../../../base/schemas/vectors/vector-filter.ts';
import { compareUtf8 } from '../guest/utf8.ts';
import { HostError, toErrorRecord } from '../host-error.ts';

/** Returns a filter in the form that the host takes, without its limits on the size of filters. */
export function checkedFilter(filter: VectorFilter): VectorFilter {
  if (typeof filter !== 'object' || filter === null) throw invalid('filter', 'it must be an object');
  if (filter.type === 'not') checkedFilter(filter.filter);
  else if (filter.type === 'and' || filter.type === 'or') {
    const { filters } = filter as { readonly filters: readonly VectorFilter[] };
    if (!Array.isArray(filters) || filters.length === 0) throw invalid('filter', 'it must have a list of filters');
    for (const each of filters) checkedFilter(each);
  } else checkComparison(filter as Readonly<Record<'type' | 'key' | 'value', unknown>>);
  return filter;
}

function checkComparison({ type, key, value }: Readonly<Record<'type' | 'key' | 'value', unknown>>): void {
  checkKey(key);
  if (type === 'in' || type === 'nin') {
    if (!Array.isArray(value)) throw invalid('filter', 'the value must be a list');
    for (const each of value) checkValue(each);
  } else if (type === 'eq' || type === 'ne') checkValue(value);
  else if (!['gt', 'gte', 'lt', 'lte'].includes(String(type))) throw invalid('filter', 'its type is unknown');
  else if (typeof value === 'boolean') throw invalid('filter', `${String(type)} needs a number or a text`);
  else checkValue(value);
}

/** Whether metadata satisfy a filter. */
export function satisfies(metadata: Metadata, filter: VectorFilter): boolean {
  if (filter.type === 'not') return !satisfies(metadata, filter.filter);
  if ('filters' in filter) {
    const each = filter.filters.map((one) => satisfies(metadata, one));
    return filter.type === 'and' ? !each.includes(false) : each.includes(true);
  }
  const stored = Object.hasOwn(metadata, filter.key) ? metadata[filter.key] : undefined;
  if (filter.type === 'eq') return stored === filter.value;
  if (filter.type === 'ne') return stored !== filter.value;
  if (filter.type === 'in') return stored !== undefined && filter.value.includes(stored);
  if (filter.type === 'nin') return stored === undefined || !filter.value.includes(stored);
  if (stored === undefined || typeof stored !== typeof filter.value) return false;
  const order =
    typeof stored === 'string' ? compareUtf8(stored, String(filter.value)) : Number(stored) - Number(filter.value);
  return { gt: order > 0, gte: order >= 0, lt: order < 0, lte: order <= 0 }[filter.type];
}

/** Whether a value is a text of 1 to `most` characters that databases can store. */
export const isText = (text: unknown, most: number): text is string =>
  typeof text === 'string' && text !== '' && text.length <= most && isStorable(text);

/** Databases store neither U+0000 nor half of a surrogate pair. */
export const isStorable = (text: string): boolean => !/[\0\p{Surrogate}]/u.test(text);

export function checkKey(key: unknown): void {
  if (!isText(key, 64)) throw invalid('a key of metadata', 'it must be a text of 1 to 64 characters');
}

export function checkValue(value: unknown): asserts value is MetadataValue {
  const isFine = typeof value === 'boolean' || Number.isFinite(value) || value === '' || isText(value, 512);
  if (!isFine) throw invalid('a value of metadata', 'it must be a text, a finite number, true or false');
}

export const invalid = (at: string, reason: string): unknown =>
  toErrorRecord(new HostError('ValidationError', 'invalid-input', `${at}: ${reason}`));
