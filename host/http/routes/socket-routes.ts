import type { Router } from '@koa/router';
import { LIVE_ROUTE, REALTIME_ROUTE } from '../../openapi/index.ts';
import { HttpError } from '../response/error-body.ts';

/** Adds answers to requests for the paths of WebSockets that open none. */
export function socketRoutes(router: Router, { hasOpenAi }: { readonly hasOpenAi: boolean }): void {
  router.get([LIVE_ROUTE.path, ...(hasOpenAi ? [REALTIME_ROUTE.path] : [])], (ctx) => {
    throw new HttpError('UpgradeRequired', `${ctx.path} is a WebSocket: connect with ws:// or wss://`, {
      headers: { upgrade: 'websocket' },
    });
  });
}
