import * as z from 'zod';

/** Returns keys of another library that are refused. The error of each says what to write instead. */
export function insteadOf<Key extends string>(
  hints: Readonly<Record<Key, string>>,
): { readonly [K in Key]: z.ZodOptional<z.ZodNever> } {
  const keys = Object.entries<string>(hints).map(([key, hint]) => [
    key,
    z
      .never({ error: `is not a key of llama.cpp: ${hint}` })
      .optional()
      .describe(`Refused: ${hint}.`),
  ]);
  return Object.fromEntries(keys) as { readonly [K in Key]: z.ZodOptional<z.ZodNever> };
}
