import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { fail } from '../../../../base/core/errors.ts';
import { callerOf } from '../../guards/caller.ts';
import type { HttpAppOptions } from '../../options.ts';
import { abortOnClose } from '../../request/request-context.ts';
import { type HostRouter, serveRoute } from '../serve-route.ts';
import type { Operations } from './operated-application.ts';
import { PROFILE_ROUTES } from './operation-definitions.ts';

/** Adds the routes with which admins profile this process. A guard must refuse other callers. */
export function profileRoutes(
  router: HostRouter,
  { application }: Operations,
  options: Pick<HttpAppOptions, 'adminsSeeContents' | 'log'> & { readonly isOwner?: boolean | undefined },
): void {
  const { adminsSeeContents = false, isOwner = false, log } = options;
  const sendProfile = async (ctx: Context, name: string, parts: AsyncIterable<string>): Promise<void> => {
    const iterator = parts[Symbol.asyncIterator]();
    const first = await iterator.next(); // a refusal is an answer with a status
    log.info('profile made by an admin', { profile: name, key: callerOf(ctx).keyId });
    ctx.attachment(name);
    ctx.type = 'application/octet-stream';
    ctx.set('cache-control', 'no-store');
    ctx.body = Readable.from(
      (async function* () {
        if (first.done !== true) yield first.value;
        yield* { [Symbol.asyncIterator]: () => iterator };
      })(),
      { objectMode: false },
    );
  };
  serveRoute(router, PROFILE_ROUTES.profileCpu, ({ ctx, query: { seconds } }) =>
    sendProfile(ctx, 'host.cpuprofile', application.profiler.cpu(seconds, abortOnClose(ctx))),
  );
  serveRoute(router, PROFILE_ROUTES.profileHeap, ({ ctx }) => {
    if (!adminsSeeContents && !isOwner)
      throw fail(
        'ContentsHidden',
        'a heap snapshot has requests and results of all users, so it needs api_service.admins_see_contents; the ' +
          'user of the process can run "aana-host profile heap"',
      );
    return sendProfile(ctx, 'host.heapsnapshot', application.profiler.heap(abortOnClose(ctx)));
  });
}
