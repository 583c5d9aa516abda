import { oas31 } from 'openapi3-ts';
import type { ServedEndpoint } from '../endpoints/index.ts';
import { endpointOperation } from './endpoint-operation.ts';
import {
  errorResponses,
  FAILURE_SCHEMAS,
  MCP_ERRORS,
  MCP_FAILURE_SCHEMAS,
  MODEL_API_ERRORS,
  MODEL_API_FAILURE_SCHEMAS,
} from './failures.ts';
import { componentsOf } from './json-schema-of.ts';
import { pathsOf } from './route-operation.ts';
import { ADMIN_TASK_ROUTES, ADMIN_WEBHOOK_ROUTES } from './routes/admin-routes.ts';
import { ANTHROPIC_ROUTES } from './routes/anthropic-routes.ts';
import { KEY_ROUTES } from './routes/key-routes.ts';
import { MCP_ROUTE } from './routes/mcp-routes.ts';
import { LIVE_ROUTE, REALTIME_ROUTE } from './routes/live-routes.ts';
import { CHANGE_ROUTES } from './routes/change-routes.ts';
import { MODEL_ROUTES } from './routes/model-routes.ts';
import { OPENAI_ROUTES } from './routes/openai-routes.ts';
import { OPERATION_ROUTES } from './routes/operation-routes.ts';
import type { RouteDefinition } from './routes/route-definition.ts';
import { SYSTEM_ROUTES } from './routes/system-routes.ts';
import { Task, TASK_ROUTES, TaskId } from './routes/task-routes.ts';
import { TRACE_ROUTES } from './routes/trace-routes.ts';
import { WEBHOOK_ROUTES } from './routes/webhook-routes.ts';
import { SchemaComponents } from './schema-components.ts';
import { WEBHOOK_MESSAGES } from './webhook-messages.ts';

export interface OpenApiOptions {
  readonly title: string;
  readonly version: string;
  /** Address of the server, for the code samples. */
  readonly baseUrl: string;
  /** Path under which the application is mounted in another one. */
  readonly mountPath?: string;
  /** Members of `info` and of the document that the application sets. */
  readonly params?: OpenApiParams | undefined;
  /** Whether requests can be deferred. */
  readonly hasTasks?: boolean;
  /** Whether there are webhooks. */
  readonly hasWebhooks?: boolean;
  /** Whether callers need an API key. */
  readonly hasKeys?: boolean;
  /** Whether admins see and change the running application. */
  readonly hasOperations?: boolean;
  /** Whether WebSockets are served. */
  readonly hasSockets?: boolean;
  /** Whether the routes of OpenAI's and Anthropic's APIs are served. */
  readonly hasOpenAi?: boolean;
  /** Whether the endpoints are served as tools of the Model Context Protocol. */
  readonly hasMcp?: boolean;
  /** Whether failed and slow requests are kept. */
  readonly hasTraces?: boolean;
}

/**
 * `title`, `version`, `description`, `contact` and other members of `info`, and `servers`, `tags` and other members of
 * the document.
 */
export type OpenApiParams = Readonly<
  Partial<oas31.InfoObject> & Pick<oas31.OpenAPIObject, 'servers' | 'tags' | 'externalDocs' | 'security'>
>;

/** Returns the OpenAPI 3.1 document of the registered endpoints and the routes of the host. */
export function buildOpenApi(endpoints: readonly ServedEndpoint[], options: OpenApiOptions): oas31.OpenAPIObject {
  const { servers, tags, externalDocs, security, ...info } = options.params ?? {};
  const mount = options.mountPath ?? '';
  const hasTasks = options.hasTasks ?? false;
  const builder = oas31.OpenApiBuilder.create()
    .addOpenApiVersion('3.1.0')
    .addInfo({ title: options.title, version: options.version, ...info });
  const schemas = new SchemaComponents((name, schema) => builder.addSchema(name, schema));
  const { hasOpenAi = false, hasMcp = false } = options;
  const named = [
    ...FAILURE_SCHEMAS,
    ...(hasTasks ? [TaskId, Task] : []),
    ...(hasOpenAi ? MODEL_API_FAILURE_SCHEMAS : []),
    ...(hasMcp ? MCP_FAILURE_SCHEMAS : []),
  ];
  for (const [name, schema] of componentsOf(named)) schemas.put(name, schema);
  const foreign = [...(hasOpenAi ? MODEL_API_ERRORS : []), ...(hasMcp ? MCP_ERRORS : [])];
  for (const [name, response] of [...errorResponses(), ...foreign]) builder.addResponse(name, response);
  for (const endpoint of endpoints) {
    builder.addPath(endpoint.path, {
      post: endpointOperation(endpoint, schemas, {
        baseUrl: `${options.baseUrl}${mount}`,
        hasTasks,
        hasKeys: options.hasKeys ?? false,
      }),
    });
  }
  for (const [path, item] of Object.entries(pathsOf(routesOf(options)))) builder.addPath(path, item);
  const { components, ...document } = builder.getSpec();
  return {
    ...document,
    ...(options.hasWebhooks && { webhooks: WEBHOOK_MESSAGES }),
    components: Object.fromEntries(
      Object.entries(components ?? {}).filter(([, members]) => Object.keys(members as object).length > 0),
    ),
    servers: servers ?? [{ url: mount === '' ? '/' : mount }],
    tags: allTags(document.paths ?? {}, tags ?? [], new Set(endpoints.map(({ plugin }) => plugin))),
    ...(externalDocs && { externalDocs }),
    security: security ?? [],
  };
}

/** Returns the routes of a host that has these parts. */
function routesOf({
  hasTasks,
  hasWebhooks,
  hasKeys,
  hasSockets,
  hasOpenAi,
  hasMcp,
  hasOperations,
  hasTraces,
}: OpenApiOptions): RouteDefinition[] {
  return [
    ...(hasOpenAi ? [...Object.values(OPENAI_ROUTES), ...Object.values(ANTHROPIC_ROUTES)] : []),
    ...(hasSockets ? [LIVE_ROUTE] : []),
    ...(hasMcp ? [MCP_ROUTE] : []),
    ...(hasSockets && hasOpenAi ? [REALTIME_ROUTE] : []),
    ...(hasTasks ? Object.values(TASK_ROUTES) : []),
    ...(hasWebhooks ? Object.values(WEBHOOK_ROUTES) : []),
    ...Object.values(SYSTEM_ROUTES),
    ...(hasOperations
      ? [OPERATION_ROUTES, CHANGE_ROUTES, MODEL_ROUTES].flatMap((routes): RouteDefinition[] => Object.values(routes))
      : []),
    ...(hasTraces ? Object.values(TRACE_ROUTES) : []),
    ...(hasKeys && hasTasks ? Object.values(ADMIN_TASK_ROUTES) : []),
    ...(hasKeys && hasWebhooks ? Object.values(ADMIN_WEBHOOK_ROUTES) : []),
    ...(hasKeys ? Object.values(KEY_ROUTES) : []),
  ];
}

const OWN_TAGS: readonly oas31.TagObject[] = [
  { name: 'app', description: 'Endpoints of the application.' },
  { name: 'openai', description: 'OpenAI’s API over the deployments of this server.' },
  { name: 'anthropic', description: 'Anthropic’s Messages API over the deployments of this server.' },
  { name: 'live', description: 'Speech to text while it is spoken.' },
  { name: 'mcp', description: 'The endpoints as tools of the Model Context Protocol.' },
  { name: 'tasks', description: 'Requests that are stored and run later.' },
  { name: 'webhooks', description: 'Addresses that receive the events of tasks.' },
  { name: 'system', description: 'The state of the server.' },
  {
    name: 'admin',
    description: 'The application, its last failed and slow requests, and tasks and webhooks of all users, for admins.',
  },
  { name: 'keys', description: 'API keys, for admins.' },
];

/** Returns every tag of an operation: first the tags that the application describes, last the tags of the host. */
function allTags(
  paths: oas31.PathsObject,
  given: readonly oas31.TagObject[],
  plugins: ReadonlySet<string | undefined>,
): oas31.TagObject[] {
  const operations = Object.values(paths).flatMap((item) => [item.get, item.put, item.post, item.delete]);
  const used = [...new Set(operations.flatMap((operation) => operation?.tags ?? []))];
  const own = OWN_TAGS.filter(({ name }) => used.includes(name) && !given.some((tag) => tag.name === name));
  const known = new Set([...given, ...own].map(({ name }) => name));
  return [
    ...given,
    ...used
      .filter((name) => !known.has(name))
      .map((name) => ({
        name,
        description: plugins.has(name) ? `Endpoints of the plugin ${name}.` : `Endpoints with the tag ${name}.`,
      })),
    ...own,
  ];
}
