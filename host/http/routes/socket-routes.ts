import type { HostRouter } from './serve-route.ts';
import { LIVE_ROUTE } from '../sockets/live/live-route.ts';
import { REALTIME_ROUTE } from '../sockets/realtime/realtime-route.ts';
import { HttpError } from '../response/error-body.ts';

/** Records the routes of WebSockets, and adds answers to requests for their paths that open none. */
export function socketRoutes(router: HostRouter, { hasOpenAi }: { readonly hasOpenAi: boolean }): void {
  const routes = [LIVE_ROUTE, ...(hasOpenAi ? [REALTIME_ROUTE] : [])];
  router.definitions.push(...routes);
  router.get(
    routes.map(({ path }) => path),
    (ctx) => {
      throw new HttpError('UpgradeRequired', `${ctx.path} is a WebSocket: connect with ws:// or wss://`, {
        headers: { upgrade: 'websocket' },
      });
    },
  );
}
