import * as z from 'zod/mini';
import { validationEntries } from '../../../base/schemas/checks/validation.ts';
import type { Form } from './form.ts';

interface Def {
  readonly type: string;
  readonly coerce?: boolean;
  readonly checks?: readonly { readonly _zod: { readonly def: CheckDef } }[];
  /** Of a schema that is a check by itself, such as `z.int()`. */
  readonly check?: string;
  readonly format?: string;
  readonly [fact: string]: unknown;
}

interface CheckDef {
  readonly check: string;
  readonly format?: string;
  readonly pattern?: RegExp;
}

/** Returns the types of mismatches of a value of another type. */
const wrongFor = (expected: string): string[] =>
  validationEntries([{ code: 'invalid_type', path: [], message: 'Invalid input', expected }], null).map(
    ({ type }) => type,
  );

/** Annotations that say nothing about values. Neither do those that begin with `x-`, such as `x-aana-file`. */
const annotations = new Set(['id', 'title', 'description', 'examples', 'deprecated']);
/** Checks that a JSON Schema states exactly. */
const stated: Readonly<Record<string, readonly string[]>> = {
  string: ['min_length', 'max_length', 'length_equals', 'string_format'],
  number: ['greater_than', 'less_than', 'multiple_of', 'number_format'],
  array: ['min_length', 'max_length', 'length_equals'],
};
const integers = ['safeint', 'int32', 'uint32'];

/**
 * Returns the form of the values of a schema. Returns undefined if its JSON Schema and the form do not say all that the
 * schema does, such as for `refine`, `transform` or a default that a function computes.
 */
export function formOf(schema: z.core.$ZodType): Form | undefined {
  if (underWay.has(schema) || !isOfThisZod(schema)) return undefined;
  underWay.add(schema);
  try {
    return formOfOne(schema);
  } finally {
    underWay.delete(schema);
  }
}

/** Schemas that this one is in, because a schema may contain itself. */
const underWay = new Set<z.core.$ZodType>();

/** Whether a schema is of the version of zod for which `stated` is true. An author's plugin may have another one. */
function isOfThisZod(schema: z.core.$ZodType): boolean {
  const { version } = schema._zod as { readonly version?: object };
  return JSON.stringify(version) === JSON.stringify(z.core.version);
}

function formOfOne(schema: z.core.$ZodType): Form | undefined {
  const def = schema._zod.def as unknown as Def;
  if (def.coerce || schema._zod.toJSONSchema || !hasOnlyAnnotations(schema) || !hasOnlyStatedChecks(def))
    return undefined;
  switch (def.type) {
    case 'any':
    case 'unknown':
      return {};
    case 'string':
    case 'boolean':
      return { scalars: [def.type], wrong: wrongFor(def.type) };
    case 'number':
      return { scalars: ['number'], wrong: wrongFor(def.check ? 'int' : 'number') };
    case 'null':
      return { isNullable: true, wrong: wrongFor('null') };
    case 'literal':
      return ofScalars(def['values'] as readonly unknown[]);
    case 'enum':
      return ofScalars(Object.values(def['entries'] as object), ['string']);
    case 'array':
      return ofInner(def['element'], (elements) => ({ elements, wrong: wrongFor('array') }));
    case 'record':
      return ofRecord(def);
    case 'object':
      return ofObject(def);
    case 'union':
      return ofUnion(def);
    case 'optional':
      return ofInner(def['innerType'], (inner) => (inner.fallback ? undefined : { ...inner, isOptional: true }));
    case 'nullable':
      return ofInner(def['innerType'], (inner) => (inner.fallback ? undefined : { ...inner, isNullable: true }));
    case 'default':
      return ofDefault(def);
    default:
      return undefined;
  }
}

function ofInner(schema: unknown, make: (inner: Form) => Form | undefined): Form | undefined {
  const inner = formOf(schema as z.core.$ZodType);
  return inner && make(inner);
}

function ofScalars(values: readonly unknown[], types = ['string', 'number', 'boolean']): Form | undefined {
  const scalars = [...new Set(values.map((value) => typeof value))];
  return scalars.every((type) => types.includes(type)) ? { scalars, wrong: ['literal_error'] } : undefined;
}

function ofRecord(def: Def): Form | undefined {
  const key = (def['keyType'] as z.core.$ZodType)._zod.def as unknown as Def;
  if (key.type !== 'string' || key.check || key.coerce || key.checks?.length || (def['mode'] ?? 'strict') !== 'strict')
    return undefined;
  return ofInner(def['valueType'], (values) => ({ values, wrong: wrongFor('record') }));
}

function ofObject(def: Def): Form | undefined {
  const rest = (def['catchall'] as z.core.$ZodType | undefined)?._zod.def.type;
  if (rest !== undefined && !['never', 'unknown', 'any'].includes(rest)) return undefined;
  if (rest !== undefined && rest !== 'never' && !formOf(def['catchall'] as z.core.$ZodType)) return undefined;
  const members = Object.entries(def['shape'] as Readonly<Record<string, z.core.$ZodType>>).map(
    ([key, member]) => [key, formOf(member)] as const,
  );
  if (members.some(([key, form]) => form === undefined || key === '__proto__')) return undefined;
  return {
    members: members as [string, Form][],
    // An unknown member of a strict object stays, so that the host refuses it.
    isOpen: rest !== undefined,
    wrong: wrongFor('object'),
  };
}

/** A union of scalars. Which branch of others fits is known only after all checks. */
function ofUnion(def: Def): Form | undefined {
  const branches = (def['options'] as readonly z.core.$ZodType[]).map(formOf);
  const isScalar = (form: Form | undefined): form is Form =>
    form?.wrong !== undefined && !form.elements && !form.values && !form.members && !form.fallback && !form.isOptional;
  if (def['inclusive'] === false || !branches.every(isScalar)) return undefined;
  const scalars = [...new Set(branches.flatMap((form) => form.scalars ?? []))];
  const wrong = branches.flatMap((form) => (form.scalars ? form.wrong! : []));
  return { scalars, isNullable: branches.some((form) => form.isNullable), wrong };
}

/** A default that is data. The build adds `isComputed` to zod's definitions, which do not say it. */
function ofDefault(def: Def): Form | undefined {
  if (def['isComputed'] !== false) return undefined;
  const value = def['defaultValue'];
  if (!isJson(value)) return undefined;
  return ofInner(def['innerType'], (inner) =>
    inner.fallback || inner.isOptional ? undefined : { ...inner, fallback: { value } },
  );
}

function isJson(value: unknown): boolean {
  if (value === null || ['string', 'boolean'].includes(typeof value)) return true;
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  if (Array.isArray(value)) return value.every(isJson);
  return (
    typeof value === 'object' &&
    Object.getPrototypeOf(value) === Object.prototype &&
    Object.entries(value).every(([key, one]) => key !== '__proto__' && isJson(one))
  );
}

const hasOnlyAnnotations = (schema: z.core.$ZodType): boolean =>
  Object.keys(z.globalRegistry.get(schema) ?? {}).every((key) => annotations.has(key) || key.startsWith('x-'));

const annotating: ReadonlySet<string> = new Set(['describe', 'meta']);

function hasOnlyStatedChecks(def: Def): boolean {
  // `describe` and `meta` check nothing.
  const checks = (def.checks ?? []).map(({ _zod }) => _zod.def).filter(({ check }) => !annotating.has(check));
  const all = def.check === undefined ? checks : [def as CheckDef, ...checks];
  return all.every(
    (one) =>
      stated[def.type]?.includes(one.check) === true &&
      (one.check !== 'number_format' || integers.includes(one.format ?? '')) &&
      (one.check !== 'string_format' || (one.format === 'regex' && isSameWithFlagU(one.pattern))),
  );
}

/** Whether a pattern means the same with the flag `u`, with which the host reads it. */
function isSameWithFlagU(pattern: RegExp | undefined): boolean {
  if (!pattern || pattern.flags === 'u') return pattern !== undefined;
  const source = pattern.source.replaceAll(/\\[.\\/^$*+?()[\]{}|dsw-]/g, 'x');
  return pattern.flags === '' && /^[ -~]*$/.test(source) && !/[.\\]|\[\^/.test(source);
}
