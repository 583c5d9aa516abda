import { oas31 } from 'openapi3-ts';
import { type ServedEndpoint, fileKeys, findFileReferences } from '../endpoints/index.ts';
import { deferParameters, TASK_ID_SCHEMA, TASK_PATHS } from './openapi-tasks.ts';
import { WEBHOOK_MESSAGES, WEBHOOK_PATHS } from './openapi-webhooks.ts';
import { schemaExample } from './schema-example.ts';

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
}

/** `title`, `version`, `description`, `contact` and other members of `info`; `servers`, `tags` and other members of the document. */
export type OpenApiParams = Readonly<Partial<oas31.InfoObject> & Pick<oas31.OpenAPIObject, 'servers' | 'tags' | 'externalDocs' | 'security'>>;

const ERROR_SCHEMA: oas31.SchemaObject = {
  type: 'object',
  properties: {
    error: { type: 'string', description: 'Class of the error, such as "DownloadException".' },
    message: { type: 'string' },
    data: { description: 'Facts about the error.' },
    stacktrace: { type: ['string', 'null'] },
  },
  required: ['error', 'message', 'data', 'stacktrace'],
};

const VALIDATION_ERROR_SCHEMA: oas31.SchemaObject = {
  type: 'object',
  properties: {
    error: { type: 'string', examples: ['ValidationError'] },
    message: { type: 'string', examples: ['Validation error'] },
    data: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          type: { type: 'string', examples: ['missing'] },
          loc: { type: 'array', items: { type: ['string', 'integer'] }, description: 'Path from the root of the input.' },
          msg: { type: 'string' },
          input: { description: 'The value there.' },
        },
        required: ['type', 'loc', 'msg', 'input'],
      },
    },
    stacktrace: { type: ['string', 'null'] },
  },
  required: ['error', 'message', 'data', 'stacktrace'],
};

const ERRORS: readonly [status: string, description: string][] = [
  ['400', 'The request cannot be served: an unreachable URL, a file that is not media.'],
  ['403', 'A private address, or a path outside the allowed directories.'],
  ['413', 'Larger than a limit.'],
  ['503', 'No replica is free, or the one at work was lost; trying again may work.'],
];

/** The OpenAPI 3.1 document of the registered endpoints and the host's own routes. */
export function buildOpenApi(endpoints: readonly ServedEndpoint[], options: OpenApiOptions): oas31.OpenAPIObject {
  const { servers, tags, externalDocs, security, ...info } = options.params ?? {};
  const mount = options.mountPath ?? '';
  const baseUrl = `${options.baseUrl}${mount}`;
  const builder = oas31.OpenApiBuilder.create()
    .addOpenApiVersion('3.1.0')
    .addInfo({ title: options.title, version: options.version, ...info })
    .addSchema('Error', ERROR_SCHEMA)
    .addSchema('ValidationError', VALIDATION_ERROR_SCHEMA);
  for (const endpoint of endpoints) {
    builder
      .addSchema(`${endpoint.name}_request`, asComponent(endpoint.inputSchema, `${endpoint.name}_request`))
      .addSchema(`${endpoint.name}_response`, asComponent(endpoint.outputSchema, `${endpoint.name}_response`))
      .addPath(endpoint.path, { post: operation(endpoint, baseUrl, options.hasTasks ?? false) });
  }
  if (options.hasTasks) for (const [path, item] of TASK_PATHS) builder.addPath(path, item);
  if (options.hasWebhooks) for (const [path, item] of WEBHOOK_PATHS) builder.addPath(path, item);
  const general = { webhooks: options.hasWebhooks ? WEBHOOK_MESSAGES : undefined, servers: servers ?? (mount === '' ? undefined : [{ url: mount }]), tags, externalDocs, security };
  const given = Object.entries(general).filter(([, value]) => value !== undefined);
  return { ...builder.addPath('/api/ready', READY_PATH).addPath('/api/status', STATUS_PATH).getSpec(), ...Object.fromEntries(given) };
}

function operation(endpoint: ServedEndpoint, baseUrl: string, hasTasks: boolean): oas31.OperationObject {
  const input: oas31.ReferenceObject = { $ref: `#/components/schemas/${endpoint.name}_request` };
  const files = Object.fromEntries(fileKeys(endpoint.inputSchema).map((key) => [key, BINARY]));
  const errors = Object.fromEntries(ERRORS.map(([status, description]) => [status, jsonResponse(description, { $ref: '#/components/schemas/Error' })]));
  return {
    operationId: endpoint.name,
    summary: endpoint.summary,
    ...(endpoint.description ? { description: endpoint.description } : {}),
    tags: [...(endpoint.tags ?? [endpoint.plugin ?? 'app'])],
    ...(hasTasks && endpoint.deferOption !== 'never' && { parameters: deferParameters(endpoint) }),
    requestBody: {
      required: true,
      content: {
        'multipart/form-data': {
          schema: { type: 'object', properties: { body: input, ...files }, required: ['body'], ...(Object.keys(files).length > 0 ? { additionalProperties: BINARY } : {}) },
          encoding: { body: { contentType: 'application/json' } },
        },
        'application/json': { schema: input },
      },
    },
    responses: {
      '200': hasTasks && endpoint.deferOption === 'always' ? jsonResponse('The request was kept.', TASK_ID_SCHEMA) : endpoint.streaming ? streamResponse(endpoint) : jsonResponse('The answer.', { $ref: `#/components/schemas/${endpoint.name}_response` }),
      '422': jsonResponse('The input does not match.', { $ref: '#/components/schemas/ValidationError' }),
      ...errors,
    },
    'x-codeSamples': codeSamples(endpoint, baseUrl),
    ...endpoint.openapiExtra,
  };
}

const BINARY: oas31.SchemaObject = { type: 'string', format: 'binary', description: 'An uploaded file; the input names it by the name of this part.' };

function jsonResponse(description: string, schema: oas31.SchemaObject | oas31.ReferenceObject): oas31.ResponseObject {
  return { description, content: { 'application/json': { schema } } };
}

function streamResponse(endpoint: ServedEndpoint): oas31.ResponseObject {
  return {
    description: 'JSON objects one after the other with nothing between them, each as it is made. An error after the first one is the last object, with the four keys of an error.',
    content: { 'application/json-seq': { schema: { $ref: `#/components/schemas/${endpoint.name}_response` } } },
  };
}

/** A schema as a component: references inside it lead to where it stands in the document. */
function asComponent(schema: object, name: string): oas31.SchemaObject {
  const move = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(move);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key,
        key === '$ref' && typeof inner === 'string' && inner.startsWith('#') ? `#/components/schemas/${name}${inner.slice(1)}` : move(inner),
      ]),
    );
  };
  const { $schema: _dialect, ...rest } = schema as Record<string, unknown>;
  return move(rest) as oas31.SchemaObject;
}

interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

/** Names of the file parts that the example of a schema refers to. */
export function exampleFiles(schema: object): string[] {
  return [...new Set(findFileReferences(schema, schemaExample(schema)).map(({ name }) => name))];
}

function codeSamples(endpoint: ServedEndpoint, baseUrl: string): CodeSample[] {
  const body = schemaExample(endpoint.inputSchema);
  const url = `${baseUrl}${endpoint.path}`;
  const files = exampleFiles(endpoint.inputSchema);
  const json = JSON.stringify(body);
  const curl = [`curl -sN ${url}`, `  -F 'body=${json.replaceAll("'", `'\\''`)}'`, ...files.map((name) => `  -F ${name}=@${name}.mp4`)].join(' \\\n');
  const parts = files.map((name) => `"${name}": open("${name}.mp4", "rb")`);
  const filesArgument = parts.length > 0 ? `, files={${parts.join(', ')}}` : '';
  const request = `requests.post("${url}", data={"body": json.dumps(body)}${filesArgument}${endpoint.streaming ? ', stream=True' : ''})`;
  const python = [
    'import json, requests',
    '',
    `body = json.loads(${JSON.stringify(json)})`,
    `response = ${request}`,
    ...(endpoint.streaming ? ['for chunk in response.iter_content(chunk_size=None):', '    print(chunk.decode())'] : ['print(response.json())']),
  ].join('\n');
  return [
    { lang: 'Shell', label: 'cURL', source: curl },
    { lang: 'Python', label: 'Python', source: python },
  ];
}

const READY_PATH: oas31.PathItemObject = {
  get: {
    operationId: 'is_ready',
    summary: 'Whether requests can be served',
    tags: ['system'],
    responses: {
      '200': jsonResponse('Ready.', { type: 'object', properties: { ready: { const: true } }, required: ['ready'] }),
      '503': jsonResponse('Not yet, or not any more.', { type: 'object', properties: { ready: { const: false } }, required: ['ready'] }),
    },
  },
};

const DEPLOYMENT_STATUS: oas31.SchemaObject = {
  type: 'object',
  properties: { status: { enum: ['NOT_STARTED', 'DEPLOYING', 'DEPLOY_FAILED', 'RUNNING', 'UNHEALTHY', 'DELETING'] }, message: { type: 'string' } },
  required: ['status', 'message'],
};

const STATUS_PATH: oas31.PathItemObject = {
  get: {
    operationId: 'get_status',
    summary: 'The state of the application and its deployments',
    tags: ['system'],
    responses: {
      '200': jsonResponse('The state.', {
        type: 'object',
        properties: {
          status: { enum: ['RUNNING', 'DEPLOYING', 'UNHEALTHY'] },
          message: { type: 'string' },
          deployments: { type: 'object', additionalProperties: DEPLOYMENT_STATUS },
        },
        required: ['status', 'message', 'deployments'],
      }),
    },
  },
};
