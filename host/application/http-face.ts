import type { Config } from '../base/config/index.ts';
import { packageVersion } from '../base/core/package-root.ts';
import { ANTHROPIC_API, ANTHROPIC_MODELS, anthropicRoutes } from '../apis/anthropic/index.ts';
import { createHttpFace, type HttpAppOptions, type HttpFace } from '../apis/http/index.ts';
import { isPaidPath, OPENAI_API, openAiRoutes, type OpenAiRoutesOptions, realtimeRoute } from '../apis/openai/index.ts';
import { searchPorts } from './ports/host-work.ts';
import { mediaInput } from './ports/media-input.ts';
import type { Services } from './services.ts';

export interface HttpFaceOptions extends Pick<
  HttpAppOptions,
  | 'openapi'
  | 'status'
  | 'readiness'
  | 'drain'
  | 'isDeployed'
  | 'log'
  | 'telemetry'
  | 'traces'
  | 'metrics'
  | 'controller'
  | 'operations'
> {
  readonly name: string;
  readonly config: Config;
  readonly services: Services;
}

/** Creates the HTTP face of an application from its services and configuration. */
export function httpFace({ name, config, services, ...rest }: HttpFaceOptions): HttpFace {
  const openai = openAiOptions(config, services);
  return createHttpFace({
    ...rest,
    title: name,
    version: packageVersion(),
    registry: services.endpoints,
    isBuilding: () => services.pluginSet.isBuilding,
    routers: services.routers,
    limits: config.limits,
    includeStacktrace: config.include_stacktrace,
    compatStatus: config.compat_status,
    cors: config.cors,
    trustedProxies: config.trusted_proxies,
    allowedHosts: config.allowed_hosts,
    hstsMaxAgeS: config.tls.cert === null ? 0 : config.tls.hsts_max_age_s,
    redocBundle: services.redocBundle,
    tasks: services.tasks,
    usage: services.usage,
    apiKeys: services.apiKeys,
    adminsSeeContents: config.api_service.admins_see_contents,
    rateLimits: services.rateLimits,
    userLimits: services.userLimits,
    webhooks: services.webhooks,
    apis: [ANTHROPIC_API, OPENAI_API],
    routes: [openAiRoutes(openai, ANTHROPIC_MODELS), anthropicRoutes(openai)],
    hasChatPage: openai.enabled,
    clientSecrets: openai.enabled ? services.clientSecrets : undefined,
    needsSubscription: config.openai.active_subscription_required ? isPaidPath : undefined,
    mcp: { ...config.mcp, deployments: services.deployments },
    sockets: {
      limits: config.sockets,
      models: services.directory,
      routes: openai.enabled ? [realtimeRoute({ openai, limits: config.limits })] : [],
    },
    tempDir: () => services.uploads.path(),
    artifactsDir: services.artifactsDir,
  });
}

function openAiOptions(config: Config, services: Services): OpenAiRoutesOptions {
  return {
    enabled: config.openai.enabled,
    strict: config.openai.strict,
    hostedTools: config.openai.hosted_tools,
    models: services.directory,
    clientSecrets: services.clientSecrets,
    createdAfterS: config.openai.responses.created_after,
    ...mediaInput(services, config),
    responses: services.responses,
    background: services.background,
    files: services.files,
    uploads: services.uploadedParts,
    batches: services.batches,
    vectorStores: searchPorts(services, config),
    maxBatchRequests: config.openai.batches.maximum_requests,
  };
}
