import type { Context } from 'koa';
import type { ApiKeys, ClientSecrets, RateLimits, UserLimits } from '../../data/access/index.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { Telemetry } from '../../base/core/telemetry.ts';
import type { Format, KeptTraces } from '../../base/telemetry/index.ts';
import type { EndpointRegistry } from '../../endpoints/registry/index.ts';
import type { Usage } from '../../data/usage/index.ts';
import type { TaskQueue } from '../../data/tasks/index.ts';
import type { Webhooks } from '../../data/webhooks/index.ts';
import type { CorsOptions } from './guards/cors.ts';
import type { Drain } from './guards/drain-guard.ts';
import type { CompatStatus } from './response/error-body.ts';
import type { OpenApiOptions } from '../openapi/index.ts';
import type { AppStatus } from './routes/system-routes.ts';
import type { BodyLimits } from './request/request-body.ts';
import type { McpOptions } from './routes/mcp/mcp-options.ts';
import type { Operations } from './routes/admin/operated-application.ts';
import type { RouterSet } from './routes/routers.ts';
import type { ForeignApis } from './response/foreign-api.ts';
import type { HostRouter } from './routes/serve-route.ts';
import type { SocketsOptions } from './sockets/sockets-options.ts';

/** Adds routes to the router of the host. */
export type RouteGroup = (router: HostRouter, options: HttpAppOptions) => void;

export interface HttpAppOptions extends ForeignApis {
  readonly title: string;
  readonly version: string;
  readonly registry: EndpointRegistry;
  readonly routers: RouterSet;
  /** Members that replace those of the OpenAPI document: `description`, `servers`, `tags` … */
  readonly openapi?: OpenApiOptions['params'];
  readonly status: () => AppStatus;
  /**
   * Returns whether calls are served, of one deployment or of any, and the deployments that should serve but do not.
   */
  readonly readiness: (deployment?: string) => { readonly ready: boolean; readonly away: readonly string[] };
  /** Whether the host takes new requests. Default: it does. */
  readonly drain?: Drain | undefined;
  /** Whether the start is over. Until then endpoints answer 503. */
  readonly isDeployed: () => boolean;
  /** Whether plugins are built after the start, whose paths nobody knows yet. Default: none is. */
  readonly isBuilding?: (() => boolean) | undefined;
  readonly limits: BodyLimits & { readonly invocation_timeout_s: number; readonly stream_keep_alive_s: number };
  readonly includeStacktrace: boolean;
  /** The statuses of errors. Default: `none`, our own. */
  readonly compatStatus?: CompatStatus | undefined;
  /** Origins whose pages may call the API. Default: same origin. */
  readonly cors?: CorsOptions | undefined;
  /** Proxies whose `X-Forwarded-…` headers are trusted: addresses, networks, `loopback`, `unix`. Default: none. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** Names under which browsers may use the server, in addition to its own. Default: none. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Time for which browsers must use HTTPS, in seconds. Default: browsers are not told to. */
  readonly hstsMaxAgeS?: number | undefined;
  /** Returns the file of Redoc's bundle, and fetches it first if necessary. Without it there is no `/redoc`. */
  readonly redocBundle?: (() => Promise<string>) | undefined;
  /** The queue of deferred requests. Without it, requests cannot be deferred. */
  readonly tasks?: TaskQueue | undefined;
  /** The API keys. Without them, callers need no key. */
  readonly apiKeys?: ApiKeys | undefined;
  /** Whether admins see the contents of other users' tasks, and whole URLs of their webhooks. Default: false. */
  readonly adminsSeeContents?: boolean | undefined;
  readonly rateLimits?: RateLimits | undefined;
  /** Limits of users. Default: there are none. */
  readonly userLimits?: UserLimits | undefined;
  /** Further routes of the host. */
  readonly routes?: readonly RouteGroup[] | undefined;
  /** Whether there is a page to chat with models, at `/chat`. It uses OpenAI's API. */
  readonly hasChatPage?: boolean | undefined;
  /** Makes and reads the secrets with which pages open realtime sessions. Without it there are none. */
  readonly clientSecrets?: ClientSecrets | undefined;
  /**
   * Whether a path needs an API key with an active subscription, where its requests compute or store something.
   * Default: none does.
   */
  readonly needsSubscription?: ((path: string) => boolean) | undefined;
  /** The endpoints as tools of the Model Context Protocol. Without it `/mcp` says that it is off. */
  readonly mcp?: McpOptions | undefined;
  /** The WebSockets. Without it there are none. */
  readonly sockets?: SocketsOptions | undefined;
  /** The webhooks, if there are tasks. */
  readonly webhooks?: Webhooks | undefined;
  /** Folder of uploads: one that exists, or a function that makes one and returns it. */
  readonly tempDir: string | (() => Promise<string>);
  /**
   * The folder that ids of uploads are relative to. Deployments use the same one, and `tempDir` is inside of it.
   * Default: `tempDir`.
   */
  readonly artifactsDir?: string | undefined;
  readonly log: Logger;
  /** Receives reports about requests. Default: no reports. */
  readonly telemetry?: Telemetry | undefined;
  /** Measures requests. Default: usage is not recorded. */
  readonly usage?: Pick<Usage, 'begin'> | undefined;
  /** The running application, for admins. Without it there are no routes for it and no dashboard. */
  readonly operations?: Operations | undefined;
  /** The last failed and slow requests. Without it there is no `/api/traces`. */
  readonly traces?: KeptTraces | undefined;
  /**
   * In a worker, lets the controller answer a request for the whole application, whose caller has passed the guards.
   * Default: this process is the controller.
   */
  readonly controller?: ((ctx: Context) => Promise<void>) | undefined;
  /** Returns the metrics of the application as text. Without it there is no `/metrics`. */
  readonly metrics?: ((format: Format) => Promise<string>) | undefined;
}
