/**
 * The form of a JSON value: what a schema changes in a value that matches it, and the types that it takes. The build
 * makes it from a schema of zod (`form-of.ts`), so that a component need not contain the schema.
 */
export interface Form {
  /** Returned for an absent value. */
  readonly fallback?: { readonly value: unknown };
  /** Whether the value may be absent. */
  readonly isOptional?: boolean;
  readonly isNullable?: boolean;
  /** What `typeof` says about texts, numbers and truth values that it takes. */
  readonly scalars?: readonly string[];
  /** Of the elements of an array. */
  readonly elements?: Form;
  /** Of the values of an object with any keys. */
  readonly values?: Form;
  /** Of the members of an object. */
  readonly members?: readonly (readonly [key: string, form: Form])[];
  /** Whether an object keeps its other members. */
  readonly isOpen?: boolean;
  /** The types of mismatches of a value with another type. Absent in the form of any value. */
  readonly wrong?: readonly string[];
}

/** A place where a value has another type. */
export interface FormMismatch {
  readonly type: string;
  readonly loc: readonly (string | number)[];
}

/**
 * Returns a value in its form, as zod does: with defaults, without unknown members, and with members in the schema's
 * order. Adds places where a type does not match to `mismatches`, which JSON may not show: a date, or NaN. The host
 * checks the rest.
 */
export function inForm(
  form: Form,
  value: unknown,
  mismatches: FormMismatch[],
  loc: readonly (string | number)[] = [],
): unknown {
  const { wrong } = form;
  if (value === undefined && form.fallback) return copyOf(form.fallback.value);
  if (wrong === undefined || (value === undefined && form.isOptional) || (value === null && form.isNullable))
    return value;
  if (form.scalars?.includes(typeof value)) {
    if (typeof value === 'number' && !Number.isFinite(value)) mismatches.push({ type: 'finite_number', loc });
    return value;
  }
  if (form.elements && Array.isArray(value))
    return Array.from(value, (one: unknown, n) => inForm(form.elements!, one, mismatches, [...loc, n]));
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    if (form.members) return withMembers(form.members, form, value as Values, mismatches, loc);
    if (form.values && isPlain(value)) {
      const pairs = Object.entries(value).filter(([key]) => key !== '__proto__');
      return Object.fromEntries(pairs.map(([key, one]) => [key, inForm(form.values!, one, mismatches, [...loc, key])]));
    }
  }
  for (const type of value === undefined && loc.length > 0 ? ['missing'] : wrong) mismatches.push({ type, loc });
  return value;
}

type Values = Readonly<Record<string, unknown>>;

function withMembers(
  members: NonNullable<Form['members']>,
  { isOpen }: Form,
  value: Values,
  mismatches: FormMismatch[],
  loc: readonly (string | number)[],
): unknown {
  const made: Record<string, unknown> = {};
  for (const [key, form] of members) {
    const given = Object.hasOwn(value, key) || !(key in Object.prototype) ? value[key] : undefined;
    const member = inForm(form, given, mismatches, [...loc, key]);
    if (member !== undefined) made[key] = member;
  }
  if (isOpen)
    for (const key of Object.keys(value)) if (!Object.hasOwn(made, key) && key !== '__proto__') made[key] = value[key];
  return made;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

const copyOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? JSON.parse(JSON.stringify(value)) : value;
