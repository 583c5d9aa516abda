/** One mismatch of an input, as clients see it in `data` of a `ValidationError`. */
export interface ValidationEntry {
  /** The kind of the mismatch, for programs: `missing`, `extra_forbidden`, `string_type`, `greater_than_equal`, … */
  readonly type: string;
  /** Path from the root of the input. */
  readonly loc: readonly (string | number)[];
  /** One sentence for people. */
  readonly msg: string;
  /** The value at `loc`. For a missing key, the object without the key. */
  readonly input: unknown;
}

/** The part of a schema issue that this file reads. Issues of zod fit. */
export interface SchemaIssue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly [fact: string]: unknown;
}

/** Most mistakes of one input that are told. */
export const MOST_ENTRIES = 100;

/**
 * Returns the issues of a failed parse of `input` as entries for clients, with the types, the messages and the number
 * of entries that pydantic would give for JSON, but at most {@link MOST_ENTRIES} of them.
 */
export function validationEntries(issues: readonly SchemaIssue[], input: unknown): ValidationEntry[] {
  const told = issues.slice(0, MOST_ENTRIES).flatMap((issue) => entriesOf(issue, input));
  return firstOfEach(told).slice(0, MOST_ENTRIES);
}

/** Returns one sentence about all entries: the first one, and the number of the others. */
export function validationMessage(entries: readonly ValidationEntry[]): string {
  const first = entries[0];
  if (!first) return 'the input is not valid';
  const where = first.loc.length > 0 ? `${first.loc.join('.')}: ` : '';
  const more = entries.length > 1 ? ` (and ${entries.length - 1} more)` : '';
  return `${where}${first.msg}${more}`;
}

/** Default messages of zod, with and without its English locale. */
const DEFAULT_MESSAGE = /^(Invalid|Too (big|small)|Unrecognized)\b/;

const TYPES: Readonly<Record<string, readonly [type: string, msg: string]>> = {
  string: ['string_type', 'Input should be a valid string'],
  number: ['float_type', 'Input should be a valid number'],
  int: ['int_type', 'Input should be a valid integer'],
  boolean: ['bool_type', 'Input should be a valid boolean'],
  array: ['list_type', 'Input should be a valid array'],
  tuple: ['tuple_type', 'Input should be a valid array'],
  object: ['model_type', 'Input should be an object'],
  record: ['dict_type', 'Input should be an object'],
  null: ['none_required', 'Input should be null'],
};

/**
 * Rules for one text or number in the order in which pydantic checks them. It reports the first rule that is broken.
 */
const RULES: readonly string[] = [
  'string_too_long',
  'string_too_short',
  'string_pattern_mismatch',
  'multiple_of',
  'less_than_equal',
  'less_than',
  'greater_than_equal',
  'greater_than',
];

/**
 * Leaves out entries that pydantic does not report: all but the first broken rule of a text or number, and mismatches
 * inside a list that is too long.
 */
function firstOfEach(entries: readonly ValidationEntry[]): ValidationEntry[] {
  if (entries.length < 2) return [...entries];
  /** The entry that is reported for a place. Of two bounds, the schema's own comes after the safe integers'. */
  const broken = new Map<string, ValidationEntry>();
  const tooLong = new Set<string>();
  const rankOf = ({ type }: ValidationEntry): number => RULES.indexOf(type);
  for (const entry of entries) {
    const key = JSON.stringify(entry.loc);
    const before = broken.get(key);
    if (rankOf(entry) >= 0 && (!before || rankOf(entry) <= rankOf(before))) broken.set(key, entry);
    if (entry.type === 'too_long') tooLong.add(key);
  }
  return entries.filter((entry) => {
    const { loc } = entry;
    if (rankOf(entry) >= 0 && entry !== broken.get(JSON.stringify(loc))) return false;
    return tooLong.size === 0 || !loc.some((_, depth) => tooLong.has(JSON.stringify(loc.slice(0, depth))));
  });
}

function entriesOf(issue: SchemaIssue, input: unknown): ValidationEntry[] {
  const loc = issue.path.map((key) => (typeof key === 'number' ? key : String(key)));
  const value = valueAt(input, loc);
  const entry = (type: string, msg: string): ValidationEntry[] => [{ type, loc, msg, input: value ?? null }];
  const own = DEFAULT_MESSAGE.test(issue.message) ? undefined : issue.message;

  if (value === undefined && loc.length > 0 && issue.code !== 'custom' && issue.code !== 'unrecognized_keys') {
    return [{ type: 'missing', loc, msg: 'Field required', input: valueAt(input, loc.slice(0, -1)) ?? null }];
  }
  switch (issue.code) {
    case 'invalid_type': {
      if (issue['received'] === 'Infinity' || issue['received'] === 'NaN')
        return entry('finite_number', own ?? 'Input should be a finite number');
      const expected = String(issue['expected']);
      if (expected === 'int' && typeof value === 'number')
        return entry('int_from_float', own ?? 'Input should be a valid integer, got a number with a fractional part');
      const [type, msg] = TYPES[expected] ?? ['value_error', `Input should be a valid ${expected}`];
      return entry(type, own ?? msg);
    }
    case 'unrecognized_keys':
      return asList(issue['keys'])
        .slice(0, MOST_ENTRIES)
        .map((key) => ({
          type: 'extra_forbidden',
          loc: [...loc, String(key)],
          msg: 'Extra inputs are not permitted',
          input: valueAt(input, [...loc, String(key)]) ?? null,
        }));
    case 'invalid_value':
      return entry('literal_error', own ?? `Input should be ${either(asList(issue['values']))}`);
    case 'too_small':
      return entry(...outOfRange(issue, 'minimum', own, value));
    case 'too_big':
      return entry(...outOfRange(issue, 'maximum', own, value));
    case 'not_multiple_of':
      return entry('multiple_of', own ?? `Input should be a multiple of ${String(issue['divisor'])}`);
    case 'invalid_format':
      return issue['format'] === 'regex'
        ? entry('string_pattern_mismatch', own ?? `String should match pattern '${patternText(issue['pattern'])}'`)
        : entry('value_error', own ?? `Value error, not a valid ${String(issue['format'])}`);
    case 'invalid_union':
      return entriesOfUnion(issue, input, loc) ?? entry('value_error', own ?? unionMessage(issue));
    case 'custom':
      return entry('value_error', `Value error, ${issue.message}`);
    default:
      return entry('value_error', issue.message);
  }
}

/**
 * Returns the entries of the closest branches: the branches whose outermost type fits, else all. A branch that is only
 * `null` is ignored.
 */
function entriesOfUnion(
  issue: SchemaIssue,
  input: unknown,
  loc: readonly (string | number)[],
): ValidationEntry[] | undefined {
  const branches = asList(issue['errors']).map((branch) => asList(branch) as SchemaIssue[]);
  const telling = branches.filter(
    (branch) => !branch.some((one) => one.path.length === 0 && one['expected'] === 'null'),
  );
  const close = telling.filter((branch) => !branch.some((one) => one.path.length === 0 && one.code === 'invalid_type'));
  const chosen = close.length > 0 ? close : telling;
  if (chosen.length === 0) return undefined;
  return validationEntries(
    chosen.flat().map((one) => ({ ...one, path: [...loc, ...one.path] })),
    input,
  );
}

function outOfRange(
  issue: SchemaIssue,
  bound: 'minimum' | 'maximum',
  own: string | undefined,
  value: unknown,
): [type: string, msg: string] {
  const limit = String(issue[bound]);
  const low = bound === 'minimum';
  switch (issue['origin']) {
    case 'string':
      return low
        ? ['string_too_short', own ?? `String should have at least ${characters(limit)}`]
        : ['string_too_long', own ?? `String should have at most ${characters(limit)}`];
    case 'array':
    case 'set': {
      const count = Array.isArray(value) ? value.length : 0;
      const items = limit === '1' ? 'item' : 'items';
      return low
        ? ['too_short', own ?? `List should have at least ${limit} ${items} after validation, not ${count}`]
        : ['too_long', own ?? `List should have at most ${limit} ${items} after validation, not ${count}`];
    }
    default: {
      const than = low ? 'greater_than' : 'less_than';
      const words = low ? 'greater than' : 'less than';
      return issue['inclusive'] === true
        ? [`${than}_equal`, own ?? `Input should be ${words} or equal to ${limit}`]
        : [than, own ?? `Input should be ${words} ${limit}`];
    }
  }
}

function unionMessage(issue: SchemaIssue): string {
  const options = asList(issue['options']);
  return options.length > 0 ? `Input should be ${either(options)}` : 'Input fits none of the allowed forms';
}

function characters(count: string): string {
  return count === '1' ? '1 character' : `${count} characters`;
}

/** Returns a list such as `'a', 'b' or 'c'`. */
function either(values: readonly unknown[]): string {
  const quoted = values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value)));
  const last = quoted.pop() ?? 'nothing';
  return quoted.length > 0 ? `${quoted.join(', ')} or ${last}` : last;
}

/** Returns `^a$` for `/^a$/i`. */
function patternText(pattern: unknown): string {
  return String(pattern).replace(/^\/(.*)\/[a-z]*$/s, '$1');
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function valueAt(input: unknown, loc: readonly (string | number)[]): unknown {
  let value = input;
  for (const key of loc) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}
