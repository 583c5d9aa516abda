import type { LogRecord } from '../../../../base/core/log/logger.ts';
import { type ApplicationState, OPERATION_ROUTES } from './operation-definitions.ts';
import { callerOf } from '../../guards/caller.ts';
import type { HttpAppOptions } from '../../options.ts';
import { inputReader } from '../../request/input-reader.ts';
import { abortOnClose } from '../../request/request-context.ts';
import { numberedEvents, numberedTexts, sendEvents } from '../../response/server-sent-events.ts';
import { LiveStates } from './live-states.ts';
import type { Operations } from './operated-application.ts';
import { changedBy } from './operator.ts';
import { type HostRouter, serveRoute } from '../serve-route.ts';

/** Time between two events of a stream of states. */
const WATCH_INTERVAL_MS = 2000;

/** Adds the routes with which admins see and change the running application. A guard must refuse other callers. */
export function operationRoutes(
  router: HostRouter,
  { application, configuration, load, revisions }: Operations,
  options: Pick<HttpAppOptions, 'limits' | 'tempDir' | 'log' | 'tasks' | 'webhooks' | 'apiKeys' | 'traces'>,
): void {
  const { log, limits, tasks, webhooks, apiKeys, traces } = options;
  const parts = {
    tasks: tasks !== undefined,
    webhooks: webhooks !== undefined,
    keys: apiKeys !== undefined,
    traces: traces !== undefined,
  };
  const inputOf = inputReader(options);
  const state = async (): Promise<ApplicationState> => ({
    application: await application.report(),
    plugins: application.plugins(),
    alerts: application.alerts().alerts.filter((alert) => alert.state === 'firing'),
    parts,
    changes: revisions(),
    load: load?.list().at(-1) ?? null,
  });

  const states = new LiveStates(state, WATCH_INTERVAL_MS);

  serveRoute(router, OPERATION_ROUTES.state, async ({ ctx }) => {
    ctx.set('cache-control', 'no-store');
    return state();
  });
  serveRoute(router, OPERATION_ROUTES.load, ({ ctx }) => {
    ctx.set('cache-control', 'no-store');
    return { samples: load?.list() ?? [] };
  });
  serveRoute(router, OPERATION_ROUTES.watch, async ({ ctx }) => {
    const signal = abortOnClose(ctx);
    await sendEvents(ctx, numberedTexts('state', states.read(signal)), {
      signal,
      keepAliveMs: WATCH_INTERVAL_MS * 5,
      onFailure: (error) => log.warn('the stream of states ended', { error }),
    });
  });
  serveRoute(router, OPERATION_ROUTES.drain, async ({ ctx }) => {
    const { draining } = await inputOf(ctx, OPERATION_ROUTES.drain.body);
    log.info('drain changed by an admin', { draining, key: callerOf(ctx).keyId });
    return { draining: await application.drain(draining) };
  });
  serveRoute(router, OPERATION_ROUTES.alerts, ({ ctx }) => {
    ctx.set('cache-control', 'no-store');
    return application.alerts();
  });
  serveRoute(router, OPERATION_ROUTES.logs, async ({ ctx, query }) => {
    if (query.deployment !== undefined) application.handle(query.deployment); // throws if it is unknown
    const records: LogRecord[] = [];
    for await (const record of application.logs.read({ ...query, follow: false })) records.push(record);
    ctx.set('cache-control', 'no-store');
    return { records };
  });
  serveRoute(router, OPERATION_ROUTES.watchLogs, async ({ ctx, query }) => {
    if (query.deployment !== undefined) application.handle(query.deployment); // throws if it is unknown
    const signal = abortOnClose(ctx);
    const records = application.logs.read({ ...query, follow: true, signal });
    await sendEvents(ctx, numberedEvents('line', records), {
      signal,
      keepAliveMs: limits.stream_keep_alive_s * 1000,
      onFailure: (error) => log.warn('the stream of log lines ended', { error }),
    });
  });
  serveRoute(router, OPERATION_ROUTES.logLevels, ({ ctx }) => {
    ctx.set('cache-control', 'no-store');
    return application.logLevels.list();
  });
  serveRoute(router, OPERATION_ROUTES.setLogLevels, async ({ ctx }) => {
    application.logLevels.change(await inputOf(ctx, OPERATION_ROUTES.setLogLevels.body));
    const levels = application.logLevels.list();
    log.info('log levels changed by an admin', { ...levels, key: callerOf(ctx).keyId });
    return levels;
  });
  serveRoute(router, OPERATION_ROUTES.configuration, ({ ctx }) => {
    ctx.set('cache-control', 'no-store');
    return { values: configuration() };
  });
  serveRoute(router, OPERATION_ROUTES.endpoints, ({ ctx }) => {
    ctx.set('cache-control', 'no-store');
    return application.endpoints();
  });
  serveRoute(router, OPERATION_ROUTES.deployments, ({ ctx, query: { deployment } }) => {
    if (deployment !== undefined) application.handle(deployment); // throws if it is unknown
    ctx.set('cache-control', 'no-store');
    return { deployments: application.describe().filter(({ name }) => name === (deployment ?? name)) };
  });
  serveRoute(router, OPERATION_ROUTES.deploymentHistory, ({ ctx, query }) => {
    ctx.set('cache-control', 'no-store');
    return application.deploymentHistory(query);
  });
  serveRoute(router, OPERATION_ROUTES.scale, async ({ ctx, params: { deployment } }) => {
    const { replicas } = await inputOf(ctx, OPERATION_ROUTES.scale.body);
    await application.scaleDeployment(deployment, replicas, changedBy(ctx));
    log.info('deployment scaled by an admin', { deployment, replicas, key: callerOf(ctx).keyId });
    return { deployment, replicas };
  });
  serveRoute(router, OPERATION_ROUTES.loadDeployment, async ({ ctx, params: { deployment } }) => {
    await application.loadDeployment(deployment, changedBy(ctx));
    log.info('deployment loaded by an admin', { deployment, key: callerOf(ctx).keyId });
    return { deployment };
  });
  serveRoute(router, OPERATION_ROUTES.unloadDeployment, async ({ ctx, params: { deployment }, query }) => {
    const graceMs = query.grace_s === undefined ? undefined : query.grace_s * 1000;
    await application.unloadDeployment(deployment, { graceMs }, changedBy(ctx));
    log.info('deployment unloaded by an admin', { deployment, key: callerOf(ctx).keyId });
    return { deployment };
  });
  serveRoute(router, OPERATION_ROUTES.reloadPlugins, async ({ ctx, query: { name } }) => {
    const plugins = await application.reloadPlugins(name);
    log.info('plugins reloaded by an admin', { plugin: name, key: callerOf(ctx).keyId });
    return { plugins };
  });
}
