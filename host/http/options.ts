import type { ApiKeys, RateLimits } from '../access/index.ts';
import type { Logger } from '../core/log/logger.ts';
import type { Telemetry } from '../core/telemetry.ts';
import type { EndpointRegistry } from '../endpoints/index.ts';
import type { TaskQueue } from '../tasks/index.ts';
import type { Webhooks } from '../webhooks/index.ts';
import type { CorsOptions } from './guards/cors.ts';
import type { CompatStatus } from './response/error-body.ts';
import type { AppStatus, OpenApiOptions } from '../openapi/index.ts';
import type { BodyLimits } from './request/request-body.ts';
import type { RouterSet } from './routes/routers.ts';

export interface HttpAppOptions {
  readonly title: string;
  readonly version: string;
  readonly registry: EndpointRegistry;
  readonly routers: RouterSet;
  /** Put over what the OpenAPI document says in general: `description`, `servers`, `tags` … */
  readonly openapi?: OpenApiOptions['params'];
  readonly status: () => AppStatus;
  /** What `/api/ready` answers. */
  readonly isReady: () => boolean;
  /** Whether the start is over; until then endpoints answer 503. */
  readonly isDeployed: () => boolean;
  readonly limits: BodyLimits & { readonly invocation_timeout_s: number; readonly stream_keep_alive_s: number };
  readonly includeStacktrace: boolean;
  /** Whose statuses errors have. Default: `none`, their own. */
  readonly compatStatus?: CompatStatus | undefined;
  /** Pages of which origins may use the API. Default: its own alone. */
  readonly cors?: CorsOptions | undefined;
  /** Whose `X-Forwarded-…` headers are believed: addresses, networks, `loopback`, `unix`. Default: nobody's. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** Names under which browsers may use the server, besides those that it has by itself. Default: none. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** How long browsers are told to use HTTPS alone, in seconds. Default: they are not told. */
  readonly hstsMaxAgeS?: number | undefined;
  /** Gives the file of Redoc's bundle, fetched first where it is not here; without it there is no `/redoc`. */
  readonly redocBundle?: (() => Promise<string>) | undefined;
  /** Takes deferred requests; without it there are none. */
  readonly tasks?: TaskQueue | undefined;
  /** Without them nobody is asked for a key. */
  readonly apiKeys?: ApiKeys | undefined;
  /** Whether admins see what tasks of other users say, and whole URLs of their webhooks. Default: false. */
  readonly adminsSeeContents?: boolean | undefined;
  readonly rateLimits?: RateLimits | undefined;
  /** Tells of tasks; absent without them. */
  readonly webhooks?: Webhooks | undefined;
  /** Where uploads go: a folder that exists, or a function that makes one. */
  readonly tempDir: string | (() => Promise<string>);
  /** The folder that ids of uploads are below, as deployments know it; `tempDir` lies in it. Default: `tempDir`. */
  readonly artifactsDir?: string | undefined;
  readonly log: Logger;
  /** Where requests are reported. Default: nowhere. */
  readonly telemetry?: Telemetry | undefined;
}
