import * as z from 'zod/mini';
import { AanaError } from '../../core/errors.ts';
import { validationEntries, validationMessage } from '../../schemas/validation.ts';

/** Returns the parsed value with defaults. Throws `ValidationError`, whose message starts with `what`. */
export function check<Schema extends z.core.$ZodType>(
  schema: Schema,
  value: unknown,
  what: string,
): z.core.output<Schema> {
  const result = z.safeParse(schema, value, { reportInput: true });
  if (result.success) return result.data;
  const issues = result.error.issues.map((issue) => ({ ...issue }));
  const entries = validationEntries(issues, value);
  throw new AanaError('ValidationError', 'invalid-input', `${what}: ${validationMessage(entries)}`, { data: entries });
}
