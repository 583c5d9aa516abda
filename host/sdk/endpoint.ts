import * as z from 'zod/mini';
import { validationEntries, validationMessage } from '../schemas/validation.ts';
import { Context, createLog, StreamContext } from './context.ts';
import { isTypedAnswer } from './deployments.ts';
import { HandleScope } from './handles.ts';
import { HostError, toErrorRecord } from './host-error.ts';
import type { Host } from './host.ts';

type Schema = z.ZodMiniType;

interface EndpointNames<I extends Schema, O extends Schema> {
  /** Unique among all plugins, such as `transcribe_video`. */
  readonly name: string;
  /** URL path, such as `/video/transcribe`. */
  readonly path: string;
  /** One line, for the list of endpoints. */
  readonly summary: string;
  readonly description?: string;
  /** An object; its keys are the parameters. */
  readonly input: I;
  /** The answer, or one streamed value. */
  readonly output: O;
}

export interface UnaryEndpoint<I extends Schema, O extends Schema> extends EndpointNames<I, O> {
  readonly stream?: false;
  run(input: z.output<I>, ctx: Context): z.input<O>;
}

export interface StreamingEndpoint<I extends Schema, O extends Schema> extends EndpointNames<I, O> {
  readonly stream: true;
  /** Sends values with `ctx.write` and `ctx.forward`, or is a generator: what it yields is sent. */
  run(input: z.output<I>, ctx: StreamContext<z.input<O>>): Iterable<z.input<O>> | void;
}

/** What the component says of an endpoint. */
export interface EndpointInfo {
  name: string;
  path: string;
  summary: string;
  description: string;
  /** JSON Schema, draft 2020-12, as text. */
  inputSchema: string;
  /** JSON Schema, draft 2020-12, as text. */
  outputSchema: string;
  streaming: boolean;
}

/** An endpoint, ready to be part of a plugin. */
export interface Endpoint {
  readonly info: EndpointInfo;
  /** Runs it on a JSON object; gives the answer as JSON (`null` when streaming) or throws an error record. */
  run(host: Host, input: string): string;
}

/** Makes an endpoint. Call it at the top of a module: schemas are then part of the built component. */
export function defineEndpoint<I extends Schema, O extends Schema>(definition: UnaryEndpoint<I, O> | StreamingEndpoint<I, O>): Endpoint {
  const { name, path, summary, description, input, output } = definition;
  const info: EndpointInfo = {
    name,
    path,
    summary,
    description: description ?? '',
    inputSchema: jsonSchema(input, 'input'),
    outputSchema: jsonSchema(output, 'output'),
    streaming: definition.stream === true,
  };
  const encode = (value: z.input<O>): string => JSON.stringify((isTypedAnswer(output, value) ? value : parsed(output, value, fromPlugin)) ?? null);

  const respond = (host: Host, scope: HandleScope, raw: string): string => {
    const args = parsed(input, JSON.parse(raw), fromClient);
    if (definition.stream !== true) return encode(notPromise(name, definition.run(args, new Context(host, scope))));
    const ctx = new StreamContext<z.input<O>>(host, scope, encode);
    const values = notPromise(name, definition.run(args, ctx));
    if (values) for (const value of values) ctx.write(value);
    return 'null';
  };

  return {
    info,
    run(host, raw) {
      const scope = new HandleScope();
      try {
        return respond(host, scope, raw);
      } catch (thrown) {
        const record = toErrorRecord(thrown);
        if (thrown instanceof Error && !(thrown instanceof HostError)) {
          createLog(host).error('endpoint failed', { endpoint: name, error: record.name, stack: thrown.stack });
        }
        throw record;
      } finally {
        scope.disposeAll();
      }
    },
  };
}

function jsonSchema(schema: Schema, io: 'input' | 'output'): string {
  return JSON.stringify(z.toJSONSchema(schema, { io, unrepresentable: 'any', target: 'draft-2020-12' }));
}

function parsed<S extends Schema>(schema: S, value: unknown, blame: (issues: Parameters<typeof validationEntries>[0], value: unknown) => HostError): z.output<S> {
  const result = z.safeParse(schema, value);
  if (!result.success) throw blame(result.error.issues as unknown as Parameters<typeof validationEntries>[0], value);
  return result.data;
}

function fromClient(issues: Parameters<typeof validationEntries>[0], value: unknown): HostError {
  const entries = validationEntries(issues, value);
  return new HostError('ValidationError', 'invalid-input', 'Validation error', { data: entries }); // as the host says it
}

function fromPlugin(issues: Parameters<typeof validationEntries>[0], value: unknown): HostError {
  const entries = validationEntries(issues, value);
  return new HostError('ValidationError', 'internal', `the endpoint gave what its output schema does not allow: ${validationMessage(entries)}`);
}

function notPromise<T>(name: string, value: T): T {
  if (typeof value === 'object' && value !== null && 'then' in value) {
    throw new TypeError(`run of the endpoint "${name}" is async; host calls are ordinary functions here, so leave out async and await`);
  }
  return value;
}
