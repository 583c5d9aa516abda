import * as z from 'zod';
import { raceAbort } from '../../base/core/abort.ts';
import { fail } from '../../base/core/errors.ts';
import { KeptPlaces, type KeptPlacesOptions } from '../../base/core/kept-places.ts';
import { type RequestContext, requestContextOf } from '../../base/core/request-context.ts';
import { RequestScope } from '../../base/core/async/request-scope.ts';
import { textTypesOf } from './answers.ts';
import { bytesTypesOf } from './bytes-answers.ts';
import { parseInput, type ServedEndpoint, type ServedOptions, type UploadedFile } from './endpoint.ts';
import { checkOutput } from './output-check.ts';

/**
 * The second argument of a host function. Every call of a deployment that the function makes has these facts, whether
 * the function passes them or not.
 */
export interface HostEndpointContext extends RequestContext {
  readonly requestId: string;
  /** The user whose API key the request came with; null if API keys are off. */
  readonly userId: string | null;
  /** Aborts when the client leaves or the time is up. The run has then ended, even if the function continues. */
  readonly signal: AbortSignal;
  /** Uploaded file parts by field name. They are deleted with the request. */
  readonly files: ReadonlyMap<string, UploadedFile>;
  /**
   * The places at the deployments that the endpoint declares. The first call of each deployment takes its place.
   */
  readonly places: KeptPlaces;
  /** Reports the progress of the run, from 0 to 1. Watchers of a task see it. */
  readonly progress: (fraction: number) => void;
}

/** The result of a host function: its output, or an async generator of the streamed values. */
export type HostEndpointResult<Output> = Promise<Output> | AsyncGenerator<Output, void, undefined>;

/**
 * A definition of an endpoint whose code is a function of the embedding program. An async generator streams the values
 * that it yields.
 */
export interface HostEndpointDefinition<
  I extends z.core.$ZodType = z.core.$ZodType,
  O extends z.core.$ZodType = z.core.$ZodType,
>
  extends ServedOptions, Pick<ServedEndpoint, 'summary' | 'deployments'> {
  readonly description?: string;
  /**
   * An object schema. Its keys are the parameters. A string with `.meta({ 'x-aana-file': true })` names an uploaded
   * file.
   */
  readonly input: I;
  /** Schema of the output, or of one streamed value. A value that does not match it fails the request. */
  readonly output: O;
  /** Whether `run` returns an async generator. Default: whether `run` is declared as one. */
  readonly streaming?: boolean;
  /** Runs once, before the first run. */
  readonly initialize?: () => Promise<void>;
  readonly run: (input: z.core.output<I>, context: HostEndpointContext) => HostEndpointResult<z.core.output<O>>;
  /** Keeps a place at one of `deployments`. Default: no places are kept. */
  readonly reserve?: KeptPlacesOptions['reserve'];
}

const AsyncGeneratorFunction = async function* () {}.constructor;

/** Whether a function is declared with `async *`. */
export function isAsyncGenerator(run: unknown): boolean {
  return run instanceof AsyncGeneratorFunction;
}

export function hostEndpoint<I extends z.core.$ZodType, O extends z.core.$ZodType>(
  definition: HostEndpointDefinition<I, O>,
): ServedEndpoint {
  const {
    description = '',
    input,
    output,
    streaming = isAsyncGenerator(definition.run),
    initialize: _initialize,
    run: _run,
    reserve = noPlace,
    ...options
  } = definition;
  const { name, deployments = [] } = options;
  let initialized: Promise<void> | undefined;
  const initialize = (): Promise<void> => (initialized ??= begin(name, definition.initialize));
  const jsonOf = (value: unknown): string => {
    checkOutput(name, output, value);
    return JSON.stringify(value) ?? 'null';
  };
  const outputSchema = schemaOf(output, 'output', name);
  // These throw if the schema names a wrong media type.
  for (const typesOf of [textTypesOf, bytesTypesOf]) typesOf({ name, outputSchema, streaming });
  return {
    ...options,
    description,
    inputSchema: schemaOf(input, 'input', name),
    outputSchema,
    streaming,
    validate: (value) => parseInput(input, value),
    initialize,
    run: async ({ input: value, signal, files, write, onProgress = () => {}, ...run }) => {
      if (definition.initialize) await initialize();
      const { requestId, userId } = run;
      run.meter?.ran();
      using places = new KeptPlaces({ reserve, expected: deployments, context: requestContextOf(run) });
      places.keep();
      using scope = new RequestScope(Object.assign(requestContextOf(run), { requestId, userId, signal, places }));
      const result = scope.run(() =>
        definition.run(
          value as z.core.output<I>,
          Object.assign(requestContextOf(run), { requestId, userId, signal, files, places, progress: onProgress }),
        ),
      );
      if (!streaming) return jsonOf(await raceAbort(result as Promise<unknown>, signal));
      if (!(Symbol.asyncIterator in result))
        throw fail(
          'OutputError',
          `endpoint ${name}: it is declared as streaming, but run does not return an async generator`,
        );
      for await (const value of untilAborted(scope.around(result), signal)) await write(jsonOf(value));
      return 'null';
    },
  };
}

const noPlace: KeptPlacesOptions['reserve'] = () => ({ release: () => {} });

/** Yields the values of a generator until the signal aborts, even if the generator ignores the signal. */
async function* untilAborted<T>(
  values: AsyncIterableIterator<T, void, undefined>,
  signal: AbortSignal,
): AsyncGenerator<T, void> {
  try {
    for (let next = await raceAbort(values.next(), signal); !next.done; next = await raceAbort(values.next(), signal))
      yield next.value;
  } finally {
    const ended = values.return?.().catch(() => {}); // the first error has been reported
    if (!signal.aborted) await ended;
  }
}

/**
 * Runs the initialization. A failure becomes an error of the endpoint. It is the answer to every request, because there
 * is no second attempt.
 */
async function begin(name: string, initialize: (() => Promise<void>) | undefined): Promise<void> {
  try {
    await initialize?.();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw fail('EndpointNotInitialized', `endpoint ${name}: it cannot be initialized: ${reason}`, {
      cause,
    });
  }
}

function schemaOf(schema: z.core.$ZodType, io: 'input' | 'output', name: string): object {
  try {
    return z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  } catch (cause) {
    throw fail('EndpointError', `endpoint ${name}: ${io} is not a schema of zod 4`, {
      cause,
    });
  }
}
