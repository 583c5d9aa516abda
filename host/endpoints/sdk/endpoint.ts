import * as z from 'zod/mini';
import { ENDPOINT_METHOD } from '../../base/schemas/answers.ts';
import { BytesAnswer } from './capabilities/bytes-answer.ts';
import { type Capability, type Uses, withCapabilities } from './capabilities/capabilities.ts';
import { checked, fromClient, fromEndpoint, runInScope } from './checked.ts';
import { after, isPromise, type MaybePromise } from './maybe-promise.ts';
import { Context, StreamContext } from './context.ts';
import { answerKindsOf, isTypedAnswer } from './capabilities/deployments.ts';
import type { HandleScope } from './capabilities/handles.ts';
import type { Host } from './host.ts';

type Schema = z.ZodMiniType;

interface EndpointNames<I extends Schema, O extends Schema, U extends Capability, S> extends Readonly<
  Pick<EndpointInfo, 'name' | 'path' | 'summary'>
> {
  readonly description?: string;
  /**
   * `GET`: the keys of the input are parameters of the path and of the query, and no key is an object or a file.
   * Default: `POST`.
   */
  readonly method?: 'GET' | 'POST';
  /** The schema of an object. Its keys are the parameters. */
  readonly input: I;
  /** The schema of the answer, or of one streamed value. */
  readonly output: O;
  /** Capabilities that the endpoint needs. `ctx` has their members, and `plugin.json` must request them. */
  readonly uses?: readonly U[];
  /**
   * Called without the host, when the plugin is loaded and before each run, which finds its result in `ctx.state`. What
   * takes time to compute belongs to the top level of a module, which runs while the component is built.
   */
  readonly initialize?: () => S;
}

/** The second argument of `run`. */
export type ContextOf<C, U extends Capability, S> = C & Uses<U> & { readonly state: S };

export interface UnaryEndpoint<
  I extends Schema,
  O extends Schema,
  U extends Capability = never,
  S = undefined,
> extends EndpointNames<I, O, U, S> {
  readonly stream?: false;
  run(input: z.output<I>, ctx: ContextOf<Context, U, S>): MaybePromise<z.input<O>>;
}

export interface StreamingEndpoint<
  I extends Schema,
  O extends Schema,
  U extends Capability = never,
  S = undefined,
> extends EndpointNames<I, O, U, S> {
  readonly stream: true;
  /** Sends values with `ctx.write` and `ctx.forward`. A generator sends the values that it yields. */
  run(
    input: z.output<I>,
    ctx: ContextOf<StreamContext<z.input<O>>, U, S>,
  ): MaybePromise<Iterable<z.input<O>> | AsyncIterable<z.input<O>> | void>;
}

/** The description of an endpoint in the component. */
export interface EndpointInfo {
  /** Unique among all plugins, such as `transcribe_video`. */
  name: string;
  /** URL path, such as `/video/transcribe`, or with keys of the input, such as `/items/{id}`. */
  path: string;
  /** One line, for the list of endpoints. */
  summary: string;
  description: string;
  /** JSON Schema, draft 2020-12, as text. */
  inputSchema: string;
  /** JSON Schema, draft 2020-12, as text. */
  outputSchema: string;
  streaming: boolean;
}

/** An endpoint for `definePlugin`. */
export interface Endpoint {
  readonly info: EndpointInfo;
  readonly uses: readonly Capability[];
  /** Creates the state with which a run begins. */
  initialize(): void;
  /** Runs the endpoint on a JSON object. Returns JSON (`null` when it streams) or throws an error record. */
  run(host: Host, input: string): MaybePromise<string>;
}

/**
 * Defines an endpoint. Call it at the top level of a module, because schemas are then created while the component is
 * built.
 */
export function defineEndpoint<I extends Schema, O extends Schema, U extends Capability = never, S = undefined>(
  definition: UnaryEndpoint<I, O, U, S> | StreamingEndpoint<I, O, U, S>,
): Endpoint {
  const { input, output, method } = definition;
  return endpointOf(definition, {
    inputSchema: jsonSchema(input, 'input', method === 'GET' ? { [ENDPOINT_METHOD]: 'get' } : {}),
    outputSchema: jsonSchema(output, 'output'),
    accept: (value) => checked(input, value, fromClient),
    answer: (value) => (isTypedAnswer(answerKindsOf(output), value) ? value : checked(output, value, fromEndpoint)),
  });
}

/** The schemas of an endpoint as JSON Schemas in text, and their checks. */
export interface Checks {
  readonly inputSchema: string;
  readonly outputSchema: string;
  /** Returns the input for `run`. Throws a `HostError`. */
  accept(value: unknown): unknown;
  /** Returns the answer, or one streamed value. Throws a `HostError`. */
  answer(value: unknown): unknown;
}

/** Returns the endpoint of a definition. Its schemas are used by the checks only. */
export function endpointOf<I extends Schema, O extends Schema, U extends Capability = never, S = undefined>(
  definition: UnaryEndpoint<I, O, U, S> | StreamingEndpoint<I, O, U, S>,
  { inputSchema, outputSchema, accept, answer }: Checks,
): Endpoint {
  const { name, path, summary, description, uses = [] } = definition;
  const info: EndpointInfo = {
    name,
    path,
    summary,
    description: description ?? '',
    inputSchema,
    outputSchema,
    streaming: definition.stream === true,
  };
  const encode = (value: z.input<O>): string => JSON.stringify(answer(value) ?? null);

  let state: { readonly value: S } | undefined;
  const initialize = (): { readonly value: S } =>
    (state ??= { value: notPromise(name, definition.initialize?.() as S) });
  const contextOf = <C extends object>(ctx: C, host: Host, scope: HandleScope): ContextOf<C, U, S> => {
    Object.assign(ctx, { state: initialize().value });
    return withCapabilities(ctx, uses, host, scope, `the endpoint ${name}`) as ContextOf<C, U, S>;
  };
  const respond = (host: Host, scope: HandleScope, raw: string): MaybePromise<string> => {
    const args = accept(JSON.parse(raw)) as z.output<I>;
    if (definition.stream !== true) {
      const outputs = definition.run(args, contextOf(new Context(host, scope), host, scope));
      return after(outputs, (value) =>
        value instanceof BytesAnswer ? after(value.send(host.output), () => 'null') : encode(value),
      );
    }
    const ctx = contextOf(new StreamContext<z.input<O>>(host, scope, encode), host, scope);
    return after(definition.run(args, ctx), (values) => after(writeAll(values, ctx), () => 'null'));
  };

  return {
    info,
    uses,
    initialize: () => void initialize(),
    run: (host, raw) => runInScope(host, name, (scope) => respond(host, scope, raw)),
  };
}

function jsonSchema(schema: Schema, io: 'input' | 'output', marks: object = {}): string {
  return JSON.stringify({
    ...z.toJSONSchema(schema, {
      io,
      unrepresentable: 'any',
      target: 'draft-2020-12',
      override: ({ zodSchema }) => prepare(zodSchema),
    }),
    ...marks,
  });
}

/**
 * Makes the schema of an object compute its keys now, while the component is built. Otherwise it would do so at its
 * first use, which each run would be. It parses no object, so no code of the plugin runs.
 */
function prepare(schema: z.core.$ZodType): void {
  if (schema._zod.def.type === 'object') schema._zod.parse({ value: undefined, issues: [] }, { async: false });
}

/** Sends the values that a generator yields. */
function writeAll<T>(values: Iterable<T> | AsyncIterable<T> | void, ctx: StreamContext<T>): MaybePromise<void> {
  if (!values) return undefined;
  if (Symbol.asyncIterator in values) return writeEach(values, ctx);
  for (const value of values) ctx.write(value);
}

async function writeEach<T>(values: AsyncIterable<T>, ctx: StreamContext<T>): Promise<void> {
  for await (const value of values) ctx.write(value);
}

function notPromise<T>(name: string, value: T): T {
  if (isPromise(value))
    throw new TypeError(`initialize of the endpoint "${name}" is async; no call of the host is possible there`);
  return value;
}
