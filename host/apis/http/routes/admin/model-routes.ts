import { type ModelReport, MODEL_ROUTES, type PullEvent } from './model-definitions.ts';
import { callerOf } from '../../guards/caller.ts';
import type { HttpAppOptions } from '../../options.ts';
import { abortOnClose } from '../../request/request-context.ts';
import { numberedEvents, sendEvents } from '../../response/server-sent-events.ts';
import { type HostRouter, serveRoute } from '../serve-route.ts';

/** The models of this machine, as admins see and change them. Ids are those of the list, or other names of the same. */
export interface ModelOperations {
  list(options: { readonly all: boolean }): Promise<readonly ModelReport[]>;
  /**
   * Begins or joins a pull, and resolves to its progress. The signal ends the stream and not the pull. Rejects with
   * `ModelNotFound`, `InvalidInput` or `TooManyPulls`.
   */
  pull(id: string, signal: AbortSignal): Promise<AsyncIterable<PullEvent>>;
  /** Ends a pull. Returns whether one ran. */
  cancel(id: string): Promise<boolean>;
  /** Returns the bytes freed. Rejects with `ModelNotFound`, or `ModelInUse` without `force`. */
  remove(id: string, options: { readonly force: boolean }): Promise<number>;
}

/** Adds the routes with which admins see, pull and remove models. A guard must refuse other callers. */
export function modelRoutes(
  router: HostRouter,
  models: ModelOperations,
  { log, limits }: Pick<HttpAppOptions, 'log' | 'limits'>,
): void {
  serveRoute(router, MODEL_ROUTES.list, async ({ ctx, query }) => {
    ctx.set('cache-control', 'no-store');
    return { models: await models.list(query) };
  });
  serveRoute(router, MODEL_ROUTES.pull, async ({ ctx, params: { model_id: id } }) => {
    const signal = abortOnClose(ctx);
    const states = await models.pull(id, signal); // a refusal has its own status, so the head waits for it
    log.info('model pulled by an admin', { model: id, key: callerOf(ctx).keyId });
    await sendEvents(ctx, numberedEvents('pull', states), {
      signal,
      keepAliveMs: limits.stream_keep_alive_s * 1000,
      onFailure: (error) => log.warn('the stream of a pull ended', { model: id, error }),
    });
  });
  serveRoute(router, MODEL_ROUTES.cancel, async ({ ctx, params: { model_id: id } }) => {
    const cancelled = await models.cancel(id);
    if (cancelled) log.info('pull of a model cancelled by an admin', { model: id, key: callerOf(ctx).keyId });
    return { id, cancelled };
  });
  serveRoute(router, MODEL_ROUTES.delete, async ({ ctx, params: { model_id: id }, query }) => {
    const freed = await models.remove(id, query);
    log.info('model removed by an admin', { model: id, forced: query.force, key: callerOf(ctx).keyId });
    return { id, freed_bytes: freed };
  });
}
