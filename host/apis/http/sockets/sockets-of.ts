import type { HttpAppOptions } from '../options.ts';
import { liveRoute } from './live/live-route.ts';
import { Sockets } from './sockets.ts';

/** Returns the WebSockets of an application, with the protocols of all paths. */
export function socketsOf(options: HttpAppOptions): Sockets | undefined {
  const { sockets, limits } = options;
  if (!sockets) return undefined;
  return new Sockets([liveRoute(sockets.models, limits), ...(sockets.routes ?? [])], sockets.limits, options);
}
