import type { AnyAttempt, AnyTask, AnyWebhook } from '../../routes/admin/admin-definitions.ts';
import type { ModelReport, PullEvent } from '../../routes/admin/model-definitions.ts';
import type { ApplicationState } from '../../routes/admin/operation-definitions.ts';
import type { OperatorAnswer, OperatorRoute } from '../../routes/owner/operator-api.ts';
import type { Delivery } from '../../routes/webhooks/webhook-definitions.ts';
import { eventsOf, type SentEvent, sentEventsOf } from './events.ts';

export type { AnyAttempt, AnyTask, AnyWebhook, ApplicationState, Delivery, PullEvent };
export type Model = ModelReport;
export type DeploymentState = ApplicationState['application']['deployments'][number];
export type PluginState = ApplicationState['plugins'][number];
export type Alert = ApplicationState['alerts'][number];
export type LoadSample = NonNullable<ApplicationState['load']>;
export type EndpointState = OperatorAnswer<'get /api/endpoints'>['endpoints'][number];
export type RouteWork = NonNullable<EndpointState['work']>;
export type LogRecord = OperatorAnswer<'get /api/logs'>['records'][number];
export type LogLevels = OperatorAnswer<'get /api/logs/levels'>;
export type ApiKey = OperatorAnswer<'get /api/keys'>['keys'][number];
export type TaskCounts = OperatorAnswer<'get /api/tasks/count'>;
export type Trace = OperatorAnswer<'get /api/traces/{trace_id}'>['traces'][number];
export type ChangePlan = OperatorAnswer<'post /api/configuration/plan'>;
export type ApplyEvent = OperatorAnswer<'post /api/configuration/apply'>;
export type ConfigValue = OperatorAnswer<'get /api/configuration'>['values'][number];

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
  readonly worker?: string | undefined;
  readonly level?: string | undefined;
}

export interface DeliveryFilter {
  readonly status?: string | undefined;
  readonly page: number;
  readonly per_page: number;
}

/** What a request has besides its route. */
interface Given {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: object;
  readonly body?: object;
}

/** The requests of the page. Each throws {@link RequestError}. */
export class Api {
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  load() {
    return this.#send('get /api/application/load');
  }

  configuration() {
    return this.#send('get /api/configuration');
  }

  planConfiguration(configuration: object) {
    return this.#send('post /api/configuration/plan', { body: configuration });
  }

  /** Resolves when the application has ended the change. The last event says how. */
  async applyConfiguration(configuration: object, planId: string, tell: (event: ApplyEvent) => void): Promise<void> {
    const given = { query: { plan_id: planId }, body: configuration };
    for await (const event of eventsOf<ApplyEvent>(await this.#fetch('post /api/configuration/apply', given)))
      tell(event);
  }

  planRollback() {
    return this.#send('get /api/configuration/rollback');
  }

  /** Like {@link applyConfiguration}, with the configuration before. */
  async rollBack(planId: string, tell: (event: ApplyEvent) => void): Promise<void> {
    const given = { query: { plan_id: planId } };
    for await (const event of eventsOf<ApplyEvent>(await this.#fetch('post /api/configuration/rollback', given)))
      tell(event);
  }

  endpoints() {
    return this.#send('get /api/endpoints');
  }

  logs(query: LogFilter) {
    return this.#send('get /api/logs', { query });
  }

  logLevels() {
    return this.#send('get /api/logs/levels');
  }

  /** Changes levels until the next start. Null lets an area follow the common level. */
  setLogLevels(change: { readonly level?: string; readonly levels?: Readonly<Record<string, string | null>> }) {
    return this.#send('put /api/logs/levels', { body: change });
  }

  scale(deployment: string, replicas: number) {
    return this.#send('put /api/deployments/{deployment}/replicas', { params: { deployment }, body: { replicas } });
  }

  loadDeployment(deployment: string) {
    return this.#send('post /api/deployments/{deployment}/load', { params: { deployment } });
  }

  unloadDeployment(deployment: string) {
    return this.#send('post /api/deployments/{deployment}/unload', { params: { deployment } });
  }

  deploymentChanges() {
    return this.#send('get /api/deployments/changes', { query: { limit: 20 } });
  }

  reloadPlugins(name?: string) {
    return this.#send('post /api/plugins/reload', { query: { name } });
  }

  models(query: { readonly all: boolean }) {
    return this.#send('get /api/models', { query });
  }

  /** Resolves when the pull has ended. Throws the reason of a pull that failed. */
  async pullModel(id: string, tell: (event: PullEvent) => void): Promise<void> {
    const response = await this.#fetch('post /api/models/{model_id}/pull', { params: { model_id: id } });
    for await (const event of eventsOf<PullEvent>(response)) {
      if (event.state === 'failed') throw new Error(event.text);
      tell(event);
    }
  }

  cancelPull(id: string) {
    return this.#send('delete /api/models/{model_id}/pull', { params: { model_id: id } });
  }

  deleteModel(id: string, force: boolean) {
    return this.#send('delete /api/models/{model_id}', { params: { model_id: id }, query: { force } });
  }

  tasks(filter: TaskFilter) {
    return this.#send('get /api/tasks', { query: filter });
  }

  countTasks() {
    return this.#send('get /api/tasks/count');
  }

  task(id: string) {
    return this.#send('get /api/tasks/{task_id}', { params: { task_id: id } });
  }

  attempts(id: string) {
    return this.#send('get /api/tasks/{task_id}/attempts', { params: { task_id: id } });
  }

  /** Yields the events of a task after the one with this id, until the task has ended. */
  async *taskEvents(id: string, after: string, signal: AbortSignal): AsyncGenerator<SentEvent> {
    const given = { params: { task_id: id }, query: { last_event_id: after } };
    yield* sentEventsOf(await this.#fetch('get /api/tasks/{task_id}/events', given, signal));
  }

  cancelTask(id: string) {
    return this.#send('post /api/tasks/{task_id}/cancel', { params: { task_id: id } });
  }

  retryTask(id: string) {
    return this.#send('post /api/tasks/{task_id}/retry', { params: { task_id: id } });
  }

  deleteTask(id: string) {
    return this.#send('delete /api/tasks/{task_id}', { params: { task_id: id } });
  }

  traces() {
    return this.#send('get /api/traces');
  }

  trace(id: string) {
    return this.#send('get /api/traces/{trace_id}', { params: { trace_id: id } });
  }

  webhooks() {
    return this.#send('get /api/webhooks');
  }

  webhook(id: string) {
    return this.#send('get /api/webhooks/{webhook_id}', { params: { webhook_id: id } });
  }

  deliveries(id: string, filter: DeliveryFilter) {
    return this.#send('get /api/webhooks/{webhook_id}/deliveries', { params: { webhook_id: id }, query: filter });
  }

  replay(id: string, deliveryId: string) {
    return this.#send('post /api/webhooks/{webhook_id}/deliveries/{delivery_id}/replay', {
      params: { webhook_id: id, delivery_id: deliveryId },
    });
  }

  enableWebhook(id: string) {
    return this.#send('post /api/webhooks/{webhook_id}/enable', { params: { webhook_id: id } });
  }

  deleteWebhook(id: string) {
    return this.#send('delete /api/webhooks/{webhook_id}', { params: { webhook_id: id } });
  }

  keys() {
    return this.#send('get /api/keys');
  }

  createKey(key: KeyRights & { readonly user_id: string; readonly key_id?: string }) {
    return this.#send('post /api/keys', { body: key });
  }

  changeKey(id: string, changes: KeyRights) {
    return this.#send('put /api/keys/{key_id}', { params: { key_id: id }, body: changes });
  }

  revokeKey(id: string) {
    return this.#send('delete /api/keys/{key_id}', { params: { key_id: id } });
  }

  async #send<Route extends OperatorRoute>(route: Route, given: Given = {}): Promise<OperatorAnswer<Route>> {
    return (await (await this.#fetch(route, given)).json()) as OperatorAnswer<Route>;
  }

  async #fetch(route: OperatorRoute, { params = {}, query = {}, body }: Given, signal?: AbortSignal) {
    const [method = '', template = ''] = route.split(' ');
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
    const response = await fetch(`${path}${queryOf(query)}`, {
      method: method.toUpperCase(),
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
