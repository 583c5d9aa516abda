import type { Context } from 'koa';
import { CHANGE_ROUTES } from './change-definitions.ts';
import { callerOf } from '../../guards/caller.ts';
import type { HttpAppOptions } from '../../options.ts';
import { inputReader } from '../../request/input-reader.ts';
import { abortOnClose } from '../../request/request-context.ts';
import { numberedEvents, sendEvents } from '../../response/server-sent-events.ts';
import type { GivenConfiguration, Operations } from './operated-application.ts';
import { changedBy } from './operator.ts';
import { type HostRouter, serveRoute } from '../serve-route.ts';

/** Adds the routes with which admins apply a configuration. A guard must refuse other callers. */
export function changeRoutes(
  router: HostRouter,
  { application }: Operations,
  options: Pick<HttpAppOptions, 'limits' | 'tempDir' | 'log'>,
): void {
  const { log, limits } = options;
  const inputOf = inputReader(options);
  serveRoute(router, CHANGE_ROUTES.plan, async ({ ctx, query: { file } }) => {
    const configuration = await inputOf(ctx, CHANGE_ROUTES.plan.body);
    ctx.set('cache-control', 'no-store');
    return application.planChanges({ file, content: JSON.stringify(configuration) });
  });
  const sendChanges = async (ctx: Context, given: GivenConfiguration, planId: string | undefined): Promise<void> => {
    const signal = abortOnClose(ctx);
    const events = application.applyChanges(given, planId, changedBy(ctx), signal);
    const what = 'previous' in given ? 'configuration before applied by an admin' : 'configuration applied by an admin';
    log.info(what, { key: callerOf(ctx).keyId });
    await sendEvents(ctx, numberedEvents('change', events), {
      signal,
      keepAliveMs: limits.stream_keep_alive_s * 1000,
      onFailure: (error) => log.warn('the stream of changes ended', { error }),
    });
  };
  serveRoute(router, CHANGE_ROUTES.apply, async ({ ctx, query }) => {
    const configuration = await inputOf(ctx, CHANGE_ROUTES.apply.body);
    await sendChanges(ctx, { file: query.file, content: JSON.stringify(configuration) }, query.plan_id);
  });
  serveRoute(router, CHANGE_ROUTES.planRollback, ({ ctx }) => {
    ctx.set('cache-control', 'no-store');
    return application.planChanges({ previous: true });
  });
  serveRoute(router, CHANGE_ROUTES.rollback, ({ ctx, query }) => sendChanges(ctx, { previous: true }, query.plan_id));
}
