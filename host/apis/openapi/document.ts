import { oas31 } from 'openapi3-ts';
import { methodOf, type ServedEndpoint } from '../../endpoints/registry/index.ts';
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
import { type RouteDefinition, tagOf } from './route-definition.ts';
import { Task, TaskId } from './deferral.ts';
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
  /** The routes of the host, in their order in the document. */
  readonly routes: readonly RouteDefinition[];
  /** Whether callers need an API key. */
  readonly hasKeys: boolean;
}

/**
 * `title`, `version`, `description`, `contact` and other members of `info`, and `servers`, `tags` and other members of
 * the document.
 */
export type OpenApiParams = Readonly<
  Partial<oas31.InfoObject> & Pick<oas31.OpenAPIObject, 'servers' | 'tags' | 'externalDocs' | 'security'>
>;

/**
 * Returns the OpenAPI 3.1 document of the registered endpoints and the routes of the host. Where it has routes for
 * tasks, endpoints can be deferred. Where it has routes for webhooks, their messages are described.
 */
export function buildOpenApi(endpoints: readonly ServedEndpoint[], options: OpenApiOptions): oas31.OpenAPIObject {
  const { servers, tags, externalDocs, security, ...info } = options.params ?? {};
  const mount = options.mountPath ?? '';
  const tagsOfRoutes = new Set(options.routes.map(tagOf));
  const hasTasks = tagsOfRoutes.has('tasks');
  const hasModelApis = tagsOfRoutes.has('openai') || tagsOfRoutes.has('anthropic');
  const hasMcp = tagsOfRoutes.has('mcp');
  const builder = oas31.OpenApiBuilder.create()
    .addOpenApiVersion('3.1.0')
    .addInfo({ title: options.title, version: options.version, ...info });
  const schemas = new SchemaComponents((name, schema) => builder.addSchema(name, schema));
  const named = [
    ...FAILURE_SCHEMAS,
    ...(hasTasks ? [TaskId, Task] : []),
    ...(hasModelApis ? MODEL_API_FAILURE_SCHEMAS : []),
    ...(hasMcp ? MCP_FAILURE_SCHEMAS : []),
  ];
  for (const [name, schema] of componentsOf(named)) schemas.put(name, schema);
  const foreign = [...(hasModelApis ? MODEL_API_ERRORS : []), ...(hasMcp ? MCP_ERRORS : [])];
  for (const [name, response] of [...errorResponses(), ...foreign]) builder.addResponse(name, response);
  for (const endpoint of endpoints) {
    builder.addPath(endpoint.path, {
      [methodOf(endpoint) === 'GET' ? 'get' : 'post']: endpointOperation(endpoint, schemas, {
        baseUrl: `${options.baseUrl}${mount}`,
        hasTasks,
        hasKeys: options.hasKeys,
      }),
    });
  }
  for (const [path, item] of Object.entries(pathsOf(options.routes))) builder.addPath(path, item);
  const { components, ...document } = builder.getSpec();
  return {
    ...document,
    ...(tagsOfRoutes.has('webhooks') && { webhooks: WEBHOOK_MESSAGES }),
    components: Object.fromEntries(
      Object.entries(components ?? {}).filter(([, members]) => Object.keys(members as object).length > 0),
    ),
    servers: servers ?? [{ url: mount === '' ? '/' : mount }],
    tags: allTags(document.paths ?? {}, tags ?? [], new Set(endpoints.map(({ plugin }) => plugin))),
    ...(externalDocs && { externalDocs }),
    security: security ?? [],
  };
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
