import type * as z from 'zod';
import type { ADMIN_TASK_ROUTES, AnyAttempt, AnyTask, AnyWebhook } from '../../routes/admin/admin-definitions.ts';
import type { CHANGE_ROUTES } from '../../routes/admin/change-definitions.ts';
import type { KEY_ROUTES } from '../../routes/admin/api-key-definitions.ts';
import type { ModelReport, PullEvent } from '../../routes/admin/model-definitions.ts';
import type { ApplicationState, OPERATION_ROUTES } from '../../routes/admin/operation-definitions.ts';
import type { TRACE_ROUTES } from '../../routes/admin/trace-definitions.ts';
import type { Delivery } from '../../routes/webhooks/webhook-definitions.ts';
import { eventsOf, type SentEvent, sentEventsOf } from './events.ts';

type Body<Route extends { readonly answers: { readonly 200: { readonly schema: z.ZodType } } }> = z.output<
  Route['answers'][200]['schema']
>;

export type { AnyAttempt, AnyTask, AnyWebhook, ApplicationState, Delivery, PullEvent };
export type Model = ModelReport;
export type DeploymentState = ApplicationState['application']['deployments'][number];
export type PluginState = ApplicationState['plugins'][number];
export type Alert = ApplicationState['alerts'][number];
export type LoadSample = NonNullable<ApplicationState['load']>;
export type EndpointState = Body<typeof OPERATION_ROUTES.endpoints>['endpoints'][number];
export type RouteWork = NonNullable<EndpointState['work']>;
export type LogRecord = Body<typeof OPERATION_ROUTES.logs>['records'][number];
export type LogLevels = Body<typeof OPERATION_ROUTES.logLevels>;
export type ApiKey = Body<typeof KEY_ROUTES.list>['keys'][number];
export type TaskCounts = Body<typeof ADMIN_TASK_ROUTES.count>;
export type Trace = Body<typeof TRACE_ROUTES.get>['traces'][number];
type Traces = Body<typeof TRACE_ROUTES.list>['traces'];
export type ChangePlan = Body<typeof CHANGE_ROUTES.plan>;
export type ApplyEvent = Body<typeof CHANGE_ROUTES.apply>;
export type ConfigValue = Body<typeof OPERATION_ROUTES.configuration>['values'][number];
type Reloaded = Body<typeof OPERATION_ROUTES.reloadPlugins>['plugins'];

/** An answer of the server that is not a success. Its message is the server's. */
export class RequestError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Throws the error of an answer that is not a success. */
export async function requireSuccess(response: Response): Promise<void> {
  if (response.ok) return;
  const body = (await response.json().catch(() => ({}))) as { readonly message?: string };
  throw new RequestError(response.status, body.message ?? `the server answered ${response.status}`);
}

export const authorization = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

export interface TaskFilter {
  readonly status?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly user_id?: string | undefined;
  readonly error?: string | undefined;
  readonly page: number;
  readonly per_page: number;
}

export interface KeyRights {
  /** Null is everything that the user may do. */
  readonly scopes: readonly string[] | null;
  readonly expired_at: string | null;
  readonly is_admin: boolean;
}

export interface LogFilter {
  readonly lines: number;
  readonly deployment?: string | undefined;
  readonly replica?: string | undefined;
  readonly area?: string | undefined;
  readonly level?: string | undefined;
}

export interface DeliveryFilter {
  readonly status?: string | undefined;
  readonly page: number;
  readonly per_page: number;
}

/** The requests of the page. Each throws {@link RequestError}. */
export class Api {
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  load(): Promise<{ samples: readonly LoadSample[] }> {
    return this.#send('GET', '/api/application/load');
  }

  configuration(): Promise<{ values: readonly ConfigValue[] }> {
    return this.#send('GET', '/api/configuration');
  }

  planConfiguration(configuration: object): Promise<ChangePlan> {
    return this.#send('POST', '/api/configuration/plan', configuration);
  }

  /** Resolves when the application has ended the change. The last event says how. */
  async applyConfiguration(configuration: object, planId: string, tell: (event: ApplyEvent) => void): Promise<void> {
    const path = `/api/configuration/apply${queryOf({ plan_id: planId })}`;
    for await (const event of eventsOf<ApplyEvent>(await this.#fetch('POST', path, configuration))) tell(event);
  }

  planRollback(): Promise<ChangePlan> {
    return this.#send('GET', '/api/configuration/rollback');
  }

  /** Like {@link applyConfiguration}, with the configuration before. */
  async rollBack(planId: string, tell: (event: ApplyEvent) => void): Promise<void> {
    const path = `/api/configuration/rollback${queryOf({ plan_id: planId })}`;
    for await (const event of eventsOf<ApplyEvent>(await this.#fetch('POST', path))) tell(event);
  }

  endpoints(): Promise<Body<typeof OPERATION_ROUTES.endpoints>> {
    return this.#send('GET', '/api/endpoints');
  }

  logs(query: LogFilter): Promise<{ records: LogRecord[] }> {
    return this.#send('GET', `/api/logs${queryOf(query)}`);
  }

  logLevels(): Promise<LogLevels> {
    return this.#send('GET', '/api/logs/levels');
  }

  /** Changes levels until the next start. Null lets an area follow the common level. */
  setLogLevels(change: {
    readonly level?: string;
    readonly levels?: Readonly<Record<string, string | null>>;
  }): Promise<LogLevels> {
    return this.#send('PUT', '/api/logs/levels', change);
  }

  scale(deployment: string, replicas: number): Promise<unknown> {
    return this.#send('PUT', `/api/deployments/${encodeURIComponent(deployment)}/replicas`, { replicas });
  }

  loadDeployment(deployment: string): Promise<unknown> {
    return this.#send('POST', `/api/deployments/${encodeURIComponent(deployment)}/load`);
  }

  unloadDeployment(deployment: string): Promise<unknown> {
    return this.#send('POST', `/api/deployments/${encodeURIComponent(deployment)}/unload`);
  }

  reloadPlugins(name?: string): Promise<{ plugins: Reloaded }> {
    return this.#send('POST', `/api/plugins/reload${queryOf({ name })}`);
  }

  models(query: { readonly all: boolean }): Promise<{ models: readonly Model[] }> {
    return this.#send('GET', `/api/models${queryOf(query)}`);
  }

  /** Resolves when the pull has ended. Throws the reason of a pull that failed. */
  async pullModel(id: string, tell: (event: PullEvent) => void): Promise<void> {
    const response = await this.#fetch('POST', `/api/models/${encodeURIComponent(id)}/pull`);
    for await (const event of eventsOf<PullEvent>(response)) {
      if (event.state === 'failed') throw new Error(event.text);
      tell(event);
    }
  }

  cancelPull(id: string): Promise<unknown> {
    return this.#send('DELETE', `/api/models/${encodeURIComponent(id)}/pull`);
  }

  deleteModel(id: string, force: boolean): Promise<unknown> {
    return this.#send('DELETE', `/api/models/${encodeURIComponent(id)}${queryOf({ force })}`);
  }

  tasks(filter: TaskFilter): Promise<{ tasks: AnyTask[] }> {
    return this.#send('GET', `/api/tasks${queryOf(filter)}`);
  }

  countTasks(): Promise<TaskCounts> {
    return this.#send('GET', '/api/tasks/count');
  }

  task(id: string): Promise<AnyTask> {
    return this.#send('GET', `/api/tasks/${encodeURIComponent(id)}`);
  }

  attempts(id: string): Promise<{ attempts: readonly AnyAttempt[] }> {
    return this.#send('GET', `/api/tasks/${encodeURIComponent(id)}/attempts`);
  }

  /** Yields the events of a task after the one with this id, until the task has ended. */
  async *taskEvents(id: string, after: string, signal: AbortSignal): AsyncGenerator<SentEvent> {
    const path = `/api/tasks/${encodeURIComponent(id)}/events${queryOf({ last_event_id: after })}`;
    yield* sentEventsOf(await this.#fetch('GET', path, undefined, signal));
  }

  cancelTask(id: string): Promise<unknown> {
    return this.#send('POST', `/api/tasks/${id}/cancel`);
  }

  retryTask(id: string): Promise<unknown> {
    return this.#send('POST', `/api/tasks/${id}/retry`);
  }

  deleteTask(id: string): Promise<unknown> {
    return this.#send('DELETE', `/api/tasks/${id}`);
  }

  traces(): Promise<{ traces: Traces }> {
    return this.#send('GET', '/api/traces');
  }

  trace(id: string): Promise<{ traces: readonly Trace[] }> {
    return this.#send('GET', `/api/traces/${encodeURIComponent(id)}`);
  }

  webhooks(): Promise<{ webhooks: AnyWebhook[] }> {
    return this.#send('GET', '/api/webhooks');
  }

  webhook(id: string): Promise<AnyWebhook> {
    return this.#send('GET', `/api/webhooks/${encodeURIComponent(id)}`);
  }

  deliveries(id: string, filter: DeliveryFilter): Promise<{ deliveries: readonly Delivery[] }> {
    return this.#send('GET', `/api/webhooks/${encodeURIComponent(id)}/deliveries${queryOf(filter)}`);
  }

  replay(id: string, deliveryId: string): Promise<unknown> {
    return this.#send('POST', `/api/webhooks/${id}/deliveries/${deliveryId}/replay`);
  }

  enableWebhook(id: string): Promise<unknown> {
    return this.#send('POST', `/api/webhooks/${id}/enable`);
  }

  deleteWebhook(id: string): Promise<unknown> {
    return this.#send('DELETE', `/api/webhooks/${id}`);
  }

  keys(): Promise<{ keys: ApiKey[] }> {
    return this.#send('GET', '/api/keys');
  }

  createKey(key: KeyRights & { readonly user_id: string; readonly key_id?: string }): Promise<{ api_key: string }> {
    return this.#send('POST', '/api/keys', key);
  }

  changeKey(id: string, changes: KeyRights): Promise<ApiKey> {
    return this.#send('PUT', `/api/keys/${encodeURIComponent(id)}`, changes);
  }

  revokeKey(id: string): Promise<unknown> {
    return this.#send('DELETE', `/api/keys/${encodeURIComponent(id)}`);
  }

  async #send<T>(method: string, path: string, body?: object): Promise<T> {
    return (await (await this.#fetch(method, path, body)).json()) as T;
  }

  async #fetch(method: string, path: string, body?: object, signal?: AbortSignal): Promise<Response> {
    const response = await fetch(path, {
      method,
      ...(signal && { signal }),
      headers: { ...authorization(this.#token), ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    await requireSuccess(response);
    return response;
  }
}

function queryOf(values: object): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([key, value]) => [key, String(value)]))}`;
}
