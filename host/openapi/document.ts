import { oas31 } from 'openapi3-ts';
import type { ServedEndpoint } from '../endpoints/index.ts';
import { endpointOperation } from './endpoint-operation.ts';
import { ERROR_SCHEMA, errorResponses, VALIDATION_ERROR_SCHEMA } from './failures.ts';
import { SYSTEM_PATHS } from './system-paths.ts';
import { ADMIN_TASK_PATHS, ADMIN_WEBHOOK_PATHS } from './admin-paths.ts';
import { TASK_PATHS, TASK_SCHEMAS } from './task-paths.ts';
import { WEBHOOK_MESSAGES, WEBHOOK_PATHS } from './webhook-paths.ts';
import { SchemaComponents } from './schema-components.ts';

export interface OpenApiOptions {
  readonly title: string;
  readonly version: string;
  /** Address of the server, for the code samples. */
  readonly baseUrl: string;
  /** Where the application is mounted in another one. */
  readonly mountPath?: string;
  /** Said by the application: members of `info`, and of the document. */
  readonly params?: OpenApiParams | undefined;
  /** Whether requests can be deferred. */
  readonly hasTasks?: boolean;
  /** Whether there are webhooks. */
  readonly hasWebhooks?: boolean;
  /** Whether callers show an API key. */
  readonly hasKeys?: boolean;
}

/**
 * `title`, `version`, `description`, `contact` and other members of `info`; `servers`, `tags` and other members of the
 * document.
 */
export type OpenApiParams = Readonly<
  Partial<oas31.InfoObject> & Pick<oas31.OpenAPIObject, 'servers' | 'tags' | 'externalDocs' | 'security'>
>;

/** The OpenAPI 3.1 document of the registered endpoints and the host's own routes. */
export function buildOpenApi(endpoints: readonly ServedEndpoint[], options: OpenApiOptions): oas31.OpenAPIObject {
  const { servers, tags, externalDocs, security, ...info } = options.params ?? {};
  const mount = options.mountPath ?? '';
  const hasTasks = options.hasTasks ?? false;
  const builder = oas31.OpenApiBuilder.create()
    .addOpenApiVersion('3.1.0')
    .addInfo({ title: options.title, version: options.version, ...info });
  const schemas = new SchemaComponents((name, schema) => builder.addSchema(name, schema));
  schemas.put('Error', ERROR_SCHEMA);
  schemas.put('ValidationError', VALIDATION_ERROR_SCHEMA);
  if (hasTasks) for (const [name, schema] of TASK_SCHEMAS) schemas.put(name, schema);
  for (const [name, response] of errorResponses()) builder.addResponse(name, response);
  for (const endpoint of endpoints) {
    builder.addPath(endpoint.path, {
      post: endpointOperation(endpoint, schemas, {
        baseUrl: `${options.baseUrl}${mount}`,
        hasTasks,
        hasKeys: options.hasKeys ?? false,
      }),
    });
  }
  for (const [path, item] of [
    ...(hasTasks ? TASK_PATHS : []),
    ...(options.hasWebhooks ? WEBHOOK_PATHS : []),
    ...SYSTEM_PATHS,
    ...(options.hasKeys && hasTasks ? ADMIN_TASK_PATHS : []),
    ...(options.hasKeys && options.hasWebhooks ? ADMIN_WEBHOOK_PATHS : []),
  ])
    builder.addPath(path, item);
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

const OWN_TAGS: readonly oas31.TagObject[] = [
  { name: 'app', description: 'Endpoints of the application.' },
  { name: 'tasks', description: 'Requests that are answered later.' },
  { name: 'webhooks', description: 'Who is told what becomes of tasks.' },
  { name: 'system', description: 'The state of the server.' },
  { name: 'admin', description: 'Tasks and webhooks of all users, for admins.' },
];

/** Every tag that an operation has: those of the application first, as it describes them, the host's own last. */
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
