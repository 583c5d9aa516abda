import type * as z from 'zod';

/**
 * A function of the program that runs in a process of its own: `endpoint.runRemote(helper, input)`. The process imports
 * the module, so importing it must start nothing.
 */
export interface Helper<I extends z.core.$ZodType = z.core.$ZodType, O extends z.core.$ZodType = z.core.$ZodType> {
  /** `import.meta.url` of the module that exports the helper. */
  readonly module: string;
  /** Unique in its module. */
  readonly name: string;
  /** Schema of the input, which is sent as JSON. */
  readonly input: I;
  /** Schema of the result, which is sent as JSON. */
  readonly output: O;
  readonly run: (input: z.core.output<I>) => Promise<z.core.input<O>> | z.core.input<O>;
}

/** Defines a helper. Export it from its module. */
export function defineHelper<I extends z.core.$ZodType, O extends z.core.$ZodType>(helper: Helper<I, O>): Helper<I, O> {
  return helper;
}

/** What the process of a helper answers. */
export type HelperAnswer = { readonly result: unknown } | { readonly error: unknown };
