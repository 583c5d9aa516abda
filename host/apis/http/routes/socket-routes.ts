import { type RouteDefinition, whereOf } from '../../openapi/index.ts';
import { HttpError } from '../response/error-body.ts';
import type { HostRouter } from './serve-route.ts';

/** Records the routes of WebSockets, and adds answers to requests for their paths that open none. */
export function socketRoutes(router: HostRouter, routes: readonly RouteDefinition[]): void {
  router.definitions.push(...routes);
  router.get(
    routes.map((route) => whereOf(route).path),
    (ctx) => {
      throw new HttpError('UpgradeRequired', `${ctx.path} is a WebSocket: connect with ws:// or wss://`, {
        headers: { upgrade: 'websocket' },
      });
    },
  );
}
