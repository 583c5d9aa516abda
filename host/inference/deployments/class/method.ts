import type * as z from 'zod';

/** What a model does in a method, in the words of OpenTelemetry's conventions for generative AI. */
export type GenerationOperation = 'chat' | 'text_completion' | 'embeddings';

/** A method of a deployment: its parameters, its result and its purpose. */
export interface MethodDefinition<
  Input extends z.core.$ZodType = z.core.$ZodType,
  Output extends z.core.$ZodType = z.core.$ZodType,
  Streaming extends boolean = boolean,
  End extends z.core.$ZodType | undefined = z.core.$ZodType | undefined,
  Fed extends FeedDefinition | undefined = FeedDefinition | undefined,
  Batch extends number | undefined = number | undefined,
> {
  readonly description: string;
  /** Schema of the parameters, by name. Arguments are checked against it and defaults are filled in. */
  readonly input: Input;
  /** Schema of the result, or of one value of the stream. */
  readonly output: Output;
  readonly streaming: Streaming;
  /** Schema of the value that a stream may return after its last one. Absent: it returns none. */
  readonly end?: End | undefined;
  /** Argument beside those of `input` whose values the caller sends while the method runs. Absent: there is none. */
  readonly feed?: Fed | undefined;
  /** Most calls that a replica of a custom class computes together. Absent: it computes each by itself. */
  readonly maxBatchSize?: Batch | undefined;
  /** Seconds that a call waits for others of its batch. */
  readonly batchWaitTimeoutS?: number | undefined;
  /** What a model does in it, for metrics. Absent: it is not a call that a model for texts answers. */
  readonly operation?: GenerationOperation | undefined;
  /** Whether its results are transcripts, which spans have if the operator wants contents. Default: no. */
  readonly transcribes?: boolean | undefined;
}

/**
 * A feed: an argument that is an async iterable. The caller's values are asked for only as fast as the method takes
 * them. A call that has a feed is not repeated on another replica once its first value was asked for.
 */
export interface FeedDefinition<Name extends string = string, Value extends z.core.$ZodType = z.core.$ZodType> {
  /** Name of the argument. */
  readonly name: Name;
  /** Schema of one value: JSON. */
  readonly value: Value;
}

/** Methods by name. */
export type MethodTable = Readonly<Record<string, MethodDefinition>>;

interface MethodSchemas<Input extends z.core.$ZodType, Output extends z.core.$ZodType> {
  readonly description: string;
  /** Schema of an object with the parameters by name. */
  readonly input: Input;
  /** Schema of the result, or of one value of the stream. */
  readonly output: Output;
  /** What a model does in it, for metrics. */
  readonly operation?: GenerationOperation;
  /**
   * Whether its results are transcripts, as those of `WhisperDeployment`. Spans have their texts if the operator wants
   * contents. Default: no.
   */
  readonly transcribes?: boolean;
}

/** Most seconds that a call waits for others. */
export const MOST_BATCH_WAIT_S = 60;

interface BatchOptions<B extends number | undefined> {
  /**
   * Most calls that the method gets together, 1 to 1000. With it, the class's method takes a list of inputs and returns
   * a list of results; see `BatchContext`. Only in classes of one's own.
   */
  readonly maxBatchSize?: B;
  /** Seconds that a call waits for others until the batch is full, 0 to 60. Default: 0.01. */
  readonly batchWaitTimeoutS?: number;
}

/** Defines a method with one result. With `maxBatchSize`, the class computes several calls together. */
export function method<
  I extends z.core.$ZodType,
  O extends z.core.$ZodType,
  const B extends number | undefined = undefined,
>(schemas: MethodSchemas<I, O> & BatchOptions<B>): MethodDefinition<I, O, false, undefined, undefined, B> {
  return { ...schemas, streaming: false };
}

/**
 * Defines a method that yields values one after the other: an async generator. With `end`, it may return a value after
 * the last one. With `feed`, it takes an async iterable as a further argument. With `maxBatchSize`, the class computes
 * several calls together, which have neither `end` nor `feed`.
 */
export function streamingMethod<
  I extends z.core.$ZodType,
  O extends z.core.$ZodType,
  E extends z.core.$ZodType | undefined = undefined,
  const F extends FeedDefinition | undefined = undefined,
  const B extends number | undefined = undefined,
>(
  schemas: MethodSchemas<I, O> & BatchOptions<B> & { readonly end?: E; readonly feed?: F },
): MethodDefinition<I, O, true, E, F, B> {
  return { ...schemas, streaming: true };
}

/** Returns the method of a table with the largest batch; undefined if no method computes calls together. */
export function largestBatch(
  methods: MethodTable,
): { readonly method: string; readonly maxBatchSize: number } | undefined {
  let largest: { readonly method: string; readonly maxBatchSize: number } | undefined;
  for (const [name, { maxBatchSize }] of Object.entries(methods))
    if (maxBatchSize !== undefined && maxBatchSize > (largest?.maxBatchSize ?? 0))
      largest = { method: name, maxBatchSize };
  return largest;
}

/** A deployment class, built in or custom. */
export interface HasMethods<M extends MethodTable = MethodTable> {
  readonly methods: M;
}

/** The argument that a feed adds, for its caller (`input`) or for the method (`output`). */
export type FeedArgument<Fed, Side extends 'input' | 'output'> = [NonNullable<Fed>] extends [never]
  ? unknown
  : NonNullable<Fed> extends FeedDefinition<infer Name, infer Value>
    ? string extends Name
      ? unknown
      : { readonly [Key in Name]: AsyncIterable<Side extends 'input' ? z.core.input<Value> : z.core.output<Value>> }
    : unknown;

/** Type of a method's first argument: checked, with defaults. */
export type Input<D extends HasMethods, Name extends keyof D['methods']> = z.core.output<D['methods'][Name]['input']> &
  FeedArgument<D['methods'][Name]['feed'], 'output'>;
/** Type of the value that a method returns or yields. */
export type Output<D extends HasMethods, Name extends keyof D['methods']> = z.core.output<D['methods'][Name]['output']>;
