import * as z from 'zod';
import { DEFER_OPTIONS, type DeferOption, MAX_EXECUTION_TIMEOUT_S } from '../../base/core/endpoint-description.ts';
import { type AanaError, fail } from '../../base/core/errors.ts';
import {
  type ChosenEndpoint,
  hostEndpoint,
  type HostEndpointContext,
  type HostEndpointDefinition,
  type HostEndpointResult,
  type ServedEndpoint,
  type ServedOptions,
} from '../../endpoints/registry/index.ts';
import { check } from '../../inference/deployments/class/check.ts';
import { type Endpoint, type EndpointApplication, makeEndpoint } from './endpoint.ts';

/** Called with the endpoint's path before a request is read. An error that it throws is the answer. */
export interface EventHandler {
  handle(path: string, event: { readonly defer: boolean }): void | Promise<void>;
}

/** Options of every endpoint, whatever it is made of. */
export interface EndpointOptions extends Pick<ServedOptions, 'name' | 'path' | 'tags'> {
  /** Default: none, or the summary of a component. */
  readonly summary?: string;
  readonly description?: string | null;
  /** Members that replace those of the operation in the OpenAPI document. */
  readonly openapi_extra?: NonNullable<ServedOptions['openapiExtra']>;
  /** Called in turn before each request. */
  readonly event_handlers?: readonly EventHandler[] | null;
  /** Whether only admins may run it; `true` needs `api_service.enabled`. Default: false. */
  readonly admin_required?: boolean;
  /** Whether only users with an active subscription may run it; `true` needs `api_service.enabled`. Default: false. */
  readonly active_subscription_required?: boolean;
  /** Which requests become tasks. Default: the value in a plugin's manifest, else `optional`. */
  readonly defer_option?: DeferOption;
  /**
   * Time for one attempt as a task, in seconds. Default: the value in a plugin's manifest, else
   * `task_queue.execution_timeout`.
   */
  readonly execution_timeout?: number;
}

/** An endpoint made of a class of this program. */
export interface ClassEndpoint extends EndpointOptions {
  readonly endpoint_cls: new () => Endpoint;
}

/** An endpoint made of a function of this program. An async generator streams. */
export interface FunctionEndpoint<I extends z.core.$ZodType, O extends z.core.$ZodType> extends EndpointOptions {
  readonly input: I;
  readonly output: O;
  readonly run: (input: z.core.output<I>, context: HostEndpointContext) => HostEndpointResult<z.core.output<O>>;
  /** Like `deployments` of {@link Endpoint}. */
  readonly deployments?: readonly string[];
}

/** One endpoint of a plugin, which runs in a sandbox. */
export interface ComponentEndpoint extends EndpointOptions {
  /** Path of the plugin's folder or of a `.wasm` file. */
  readonly component: string;
  /** Name of the endpoint in the plugin. Default: the same name, or the only endpoint. */
  readonly endpoint?: string;
}

export type EndpointRegistration<
  I extends z.core.$ZodType = z.core.$ZodType,
  O extends z.core.$ZodType = z.core.$ZodType,
> = ClassEndpoint | FunctionEndpoint<I, O> | ComponentEndpoint;

const aFunction = z.custom<(...args: never[]) => unknown>((value) => typeof value === 'function', 'must be a function');
const aSchema = z.custom<z.core.$ZodType>(
  (value) => (value as { _zod?: unknown } | null)?._zod !== undefined,
  'must be a zod 4 schema',
);
const aHandler = z.custom<EventHandler>(
  (value) => typeof (value as Partial<EventHandler> | null)?.handle === 'function',
  'must have a method handle',
);

/** The keys of a registration, of every kind. */
export const Registration = z.strictObject({
  name: z.string(),
  path: z.string(),
  summary: z.string().default(''),
  description: z.string().nullable().optional(),
  tags: z.array(z.string().min(1)).optional(),
  openapi_extra: z.record(z.string(), z.unknown()).optional(),
  event_handlers: z.array(aHandler).nullable().optional(),
  admin_required: z.boolean().default(false),
  active_subscription_required: z.boolean().default(false),
  defer_option: z.enum(DEFER_OPTIONS).optional(),
  execution_timeout: z.number().positive().max(MAX_EXECUTION_TIMEOUT_S).optional(),
  endpoint_cls: aFunction.optional(),
  input: aSchema.optional(),
  output: aSchema.optional(),
  run: aFunction.optional(),
  deployments: z.array(z.string().min(1)).optional(),
  component: z.string().min(1).optional(),
  endpoint: z.string().min(1).optional(),
});

export interface RegistrationOptions {
  readonly hasApiKeys: boolean;
  /** Reserves a place in a deployment for a run of an endpoint. */
  readonly reserve: NonNullable<HostEndpointDefinition['reserve']>;
}

export type CheckedEndpoint =
  | { readonly host: ServedEndpoint }
  | { readonly component: string; readonly choose: (source: string) => ChosenEndpoint };

/**
 * Checks a registration. Returns an endpoint of this program, or the choice of a component's endpoint. Throws
 * `ValidationError`, which names the endpoint and the key.
 */
export function checkRegistration(
  registration: EndpointRegistration,
  application: EndpointApplication,
  { hasApiKeys, reserve }: RegistrationOptions,
): CheckedEndpoint {
  const what = `endpoint ${String((registration as Partial<EndpointOptions> | null)?.name)}`;
  const given = check(Registration, registration, what);
  // Without API keys the host cannot recognise admins and subscribers. Ignoring these options would leave an endpoint
  // open that was meant to be protected.
  const guarded = (['admin_required', 'active_subscription_required'] as const).find((key) => given[key]);
  if (guarded !== undefined && !hasApiKeys)
    throw invalid(
      `${what}: ${guarded}: API keys are off, so anybody could run it; set api_service.enabled ` +
        `(API_SERVICE__ENABLED=true), or leave it out`,
    );
  const {
    name,
    path,
    summary,
    description,
    tags,
    openapi_extra: openapiExtra,
    event_handlers: handlers,
    defer_option: deferOption,
    execution_timeout: executionTimeoutS,
  } = given;
  const { admin_required: adminRequired, active_subscription_required: activeSubscriptionRequired } = given;
  const said: ServedOptions = {
    name,
    path,
    adminRequired,
    activeSubscriptionRequired,
    ...(tags && { tags }),
    ...(openapiExtra && { openapiExtra }),
    ...(deferOption && { deferOption }),
    ...(executionTimeoutS !== undefined && { executionTimeoutS }),
    ...(handlers && { admit: admission(path, handlers) }),
  };

  const described = description == null ? {} : { description };

  const kinds = (['endpoint_cls', 'run', 'component'] as const).filter((key) => given[key] !== undefined);
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1)
    throw invalid(
      `${what}: give exactly one of endpoint_cls, run and ` +
        `component${kinds.length > 1 ? `, not ${kinds.join(' and ')}` : ''}`,
    );
  if (kind !== 'component' && given.endpoint !== undefined)
    throw invalid(`${what}: endpoint needs component, because it names an endpoint of a component`);
  if (kind !== 'run' && (given.input ?? given.output) !== undefined)
    throw invalid(
      `${what}: input and output are only for run; a class has them as fields, and a component describes them itself`,
    );
  if (kind !== 'run' && given.deployments !== undefined)
    throw invalid(
      `${what}: deployments is only for run; a class has it as a field, and a plugin names its deployments in ` +
        `plugin.json`,
    );

  if (given.component !== undefined) {
    return {
      component: given.component,
      choose: (source) => ({
        ...said,
        ...described,
        source,
        ...(summary !== '' && { summary }),
        ...(given.endpoint !== undefined && { endpoint: given.endpoint }),
      }),
    };
  }
  if (given.endpoint_cls !== undefined) {
    const endpoint = makeEndpoint(given.endpoint_cls as unknown as new () => Endpoint, name, application);
    const { input, output, deployments, isStreaming: streaming } = endpoint;
    return {
      host: hostEndpoint({
        ...said,
        ...described,
        summary,
        input,
        output,
        streaming,
        reserve,
        ...(deployments && { deployments }),
        initialize: () => endpoint.initialize(),
        run: (value, context) => endpoint.run(value, context),
      }),
    };
  }
  const { input, output, run, deployments } = given;
  if (!input || !output) throw invalid(`${what}: ${input ? 'output' : 'input'}: a zod 4 schema is missing`);
  return {
    host: hostEndpoint({
      ...said,
      ...described,
      summary,
      input,
      output,
      reserve,
      ...(deployments && { deployments }),
      run: run as FunctionEndpoint<z.core.$ZodType, z.core.$ZodType>['run'],
    }),
  };
}

function admission(path: string, handlers: readonly EventHandler[]): NonNullable<ServedEndpoint['admit']> {
  return async ({ defer }) => {
    for (const handler of handlers) await handler.handle(path, { defer });
  };
}

function invalid(message: string): AanaError {
  return fail('ValidationError', message);
}
