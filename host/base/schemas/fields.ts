import * as z from 'zod/mini';
import { MAX_TEXT } from './bounds.ts';

/** A text that may be empty. Lone surrogates have no UTF-8 form, so they could match nothing. */
export const anyText = z.string().check(
  z.maxLength(MAX_TEXT),
  z.refine((value) => !/[\uD800-\uDFFF]/u.test(value), 'must be well-formed Unicode: it has half of a surrogate pair.'),
);

export const text = anyText.check(z.minLength(1));

export const absent = <Schema extends z.core.$ZodType>(schema: Schema): z.ZodMiniOptional<z.ZodMiniNullable<Schema>> =>
  z.optional(z.nullable(schema));
