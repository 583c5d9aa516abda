import * as z from 'zod/mini';
import { MAX_TEXT } from './bounds.ts';

/** Lone surrogates have no UTF-8 form, so they could match nothing. */
export const text = z.string().check(
  z.minLength(1),
  z.maxLength(MAX_TEXT),
  z.refine((value) => !/[\uD800-\uDFFF]/u.test(value), 'must be well-formed Unicode: it has half of a surrogate pair.'),
);

export const absent = <Schema extends z.core.$ZodType>(schema: Schema): z.ZodMiniOptional<z.ZodMiniNullable<Schema>> =>
  z.optional(z.nullable(schema));
