import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import type { SocketRoute } from './socket-route.ts';
import type { SocketCountLimits } from './socket-counts.ts';

/** The settings `sockets`. */
export interface SocketLimits extends SocketCountLimits {
  readonly max_message_bytes: number;
  readonly max_buffered_bytes: number;
  readonly ping_interval_s: number;
  readonly idle_timeout_s: number;
  readonly max_duration_s: number;
}

export interface SocketsOptions {
  readonly limits: SocketLimits;
  /** The deployments that protocols call. */
  readonly models: ModelDirectory;
  /** Further paths that take WebSockets. */
  readonly routes?: readonly SocketRoute[];
}
