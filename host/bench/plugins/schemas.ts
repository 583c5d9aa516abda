import * as z from 'zod';

/** The benchmark plugin's schemas, as a person would write them with zod. */
export const Input = z.strictObject({
  text: z.string().min(1).max(1000),
  count: z.int().min(0).max(1000),
  options: z.strictObject({ language: z.string(), temperature: z.number().min(0).max(2) }),
});
export const Output = z.object({ text: z.string(), count: z.int() });
