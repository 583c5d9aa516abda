import type { HttpAppOptions } from '../options.ts';
import { liveRoute } from './live/live-route.ts';
import { realtimeRoute } from './realtime/realtime-route.ts';
import { Sockets } from './sockets.ts';

/** Returns the WebSockets of an application, with the protocols of all paths. */
export function socketsOf(options: HttpAppOptions): Sockets | undefined {
  const { sockets, openai } = options;
  if (!sockets) return undefined;
  const routes = [
    liveRoute(sockets.models, options.limits),
    ...(openai?.enabled ? [realtimeRoute({ ...options, openai })] : []),
  ];
  return new Sockets(routes, sockets.limits, options);
}
