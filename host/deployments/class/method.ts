import type * as z from 'zod';

/** A method of a deployment: what it takes, what it gives, and what for. */
export interface MethodDefinition<
  Input extends z.core.$ZodType = z.core.$ZodType,
  Output extends z.core.$ZodType = z.core.$ZodType,
  Streaming extends boolean = boolean,
> {
  readonly description: string;
  /** Parameters by name; what callers send is checked against it and its defaults are filled in. */
  readonly input: Input;
  /** The result, or one value of the stream. */
  readonly output: Output;
  readonly streaming: Streaming;
}

/** Methods by the name that callers use. */
export type MethodTable = Readonly<Record<string, MethodDefinition>>;

interface MethodSchemas<Input extends z.core.$ZodType, Output extends z.core.$ZodType> {
  readonly description: string;
  /** An object schema: parameters by name. */
  readonly input: Input;
  /** Of the result, or of one value of the stream. */
  readonly output: Output;
}

/** A method with one result. */
export function method<I extends z.core.$ZodType, O extends z.core.$ZodType>(
  schemas: MethodSchemas<I, O>,
): MethodDefinition<I, O, false> {
  return { ...schemas, streaming: false };
}

/** A method that gives one value after the other: an async generator. */
export function streamingMethod<I extends z.core.$ZodType, O extends z.core.$ZodType>(
  schemas: MethodSchemas<I, O>,
): MethodDefinition<I, O, true> {
  return { ...schemas, streaming: true };
}

/** What has methods: a deployment class of the package, or one's own. */
export interface HasMethods<M extends MethodTable = MethodTable> {
  readonly methods: M;
}

/** What a method of a class gets as its first parameter: checked, defaults filled in. */
export type Input<D extends HasMethods, Name extends keyof D['methods']> = z.core.output<D['methods'][Name]['input']>;
/** What a method gives, or yields. */
export type Output<D extends HasMethods, Name extends keyof D['methods']> = z.core.output<D['methods'][Name]['output']>;
