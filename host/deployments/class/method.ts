import type * as z from 'zod';

/** A method of a deployment: its parameters, its result and its purpose. */
export interface MethodDefinition<
  Input extends z.core.$ZodType = z.core.$ZodType,
  Output extends z.core.$ZodType = z.core.$ZodType,
  Streaming extends boolean = boolean,
  End extends z.core.$ZodType | undefined = z.core.$ZodType | undefined,
> {
  readonly description: string;
  /** Schema of the parameters, by name. Arguments are checked against it and defaults are filled in. */
  readonly input: Input;
  /** Schema of the result, or of one value of the stream. */
  readonly output: Output;
  readonly streaming: Streaming;
  /** Schema of the value that a stream may return after its last one. Absent: it returns none. */
  readonly end?: End | undefined;
}

/** Methods by name. */
export type MethodTable = Readonly<Record<string, MethodDefinition>>;

interface MethodSchemas<Input extends z.core.$ZodType, Output extends z.core.$ZodType> {
  readonly description: string;
  /** Schema of an object with the parameters by name. */
  readonly input: Input;
  /** Schema of the result, or of one value of the stream. */
  readonly output: Output;
}

/** Defines a method with one result. */
export function method<I extends z.core.$ZodType, O extends z.core.$ZodType>(
  schemas: MethodSchemas<I, O>,
): MethodDefinition<I, O, false, undefined> {
  return { ...schemas, streaming: false };
}

/**
 * Defines a method that yields values one after the other: an async generator. With `end`, it may return a value after
 * the last one.
 */
export function streamingMethod<
  I extends z.core.$ZodType,
  O extends z.core.$ZodType,
  E extends z.core.$ZodType | undefined = undefined,
>(schemas: MethodSchemas<I, O> & { readonly end?: E }): MethodDefinition<I, O, true, E> {
  return { ...schemas, streaming: true };
}

/** A deployment class, built in or custom. */
export interface HasMethods<M extends MethodTable = MethodTable> {
  readonly methods: M;
}

/** Type of a method's first argument: checked, with defaults. */
export type Input<D extends HasMethods, Name extends keyof D['methods']> = z.core.output<D['methods'][Name]['input']>;
/** Type of the value that a method returns or yields. */
export type Output<D extends HasMethods, Name extends keyof D['methods']> = z.core.output<D['methods'][Name]['output']>;
