import { pathParametersOf } from '../../base/core/net/route-paths.ts';
import type { oas31 } from 'openapi3-ts';
import * as z from 'zod';
import type { DeferOption } from '../../base/core/endpoint-description.ts';
import { fileKeys, findFileReferences, methodOf, type ServedEndpoint } from '../../endpoints/registry/index.ts';
import { type EndpointAnswers, endpointAnswers } from './endpoint-answers.ts';
import { type CodeSample, codeSamples } from './code-samples.ts';
import { ENDPOINT_FAILURES, failures } from './failures.ts';
import { parametersOf } from './route-operation.ts';
import { DeferQuery, IdempotencyKey, TaskQuery } from './deferral.ts';
import { pascalCase, type SchemaComponents } from './schema-components.ts';
import { schemaExample } from './schema-example.ts';

export interface EndpointOperationOptions {
  /** Address of the application, for the code samples. */
  readonly baseUrl: string;
  /** Whether requests can be deferred. */
  readonly hasTasks: boolean;
  /** Whether callers need an API key. */
  readonly hasKeys: boolean;
}

/**
 * Facts about an operation that its schemas do not have, for programs that read the document, such as our generator of
 * clients.
 */
export interface EndpointExtension {
  readonly streaming: boolean;
  readonly defer: DeferOption;
  /** The output, or one streamed value, even if the answer is the id of a task. */
  readonly output: EndpointAnswers['output'];
}

/** Returns the operation of an endpoint, and adds its schemas to the components. */
export function endpointOperation(
  endpoint: ServedEndpoint,
  schemas: SchemaComponents,
  options: EndpointOperationOptions,
): oas31.OperationObject {
  const name = pascalCase(endpoint.name);
  const parameters = parametersIn(endpoint, name, schemas);
  if (methodOf(endpoint) === 'GET') return getOperation(endpoint, parameters, name, schemas);
  const example = parameters.length > 0 ? undefined : exampleOf(endpoint, true);
  const input = schemas.add(`${name}Request`, withoutKeys(endpoint.inputSchema, pathParametersOf(endpoint.path)));
  const answers = endpointAnswers(endpoint, name, schemas);
  const defer = options.hasTasks ? (endpoint.deferOption ?? 'optional') : 'never';
  const extension: EndpointExtension = { streaming: endpoint.streaming, defer, output: answers.output };
  return {
    operationId: endpoint.name,
    summary: endpoint.summary === '' ? endpoint.name : endpoint.summary,
    ...(endpoint.description ? { description: endpoint.description } : {}),
    tags: [...(endpoint.tags ?? [endpoint.plugin ?? 'app'])],
    ...((defer !== 'never' || parameters.length > 0) && {
      parameters: [...parameters, ...(defer === 'never' ? [] : deferParameters(defer))],
    }),
    requestBody: { required: true, content: requestContent(endpoint, input, example) },
    responses: {
      '200':
        defer === 'always'
          ? jsonResponse('The request is stored as a task.', TASK_ID)
          : successResponse(endpoint, answers, defer),
      ...failures(...ENDPOINT_FAILURES, ...(defer === 'never' ? [] : ([409] as const))),
    },
    // Our generator of clients puts no parameters into the paths of endpoints. It takes this for another operation.
    ...(parameters.length === 0 && { 'x-aana-endpoint': extension }),
    ...(example && { 'x-codeSamples': samplesOf(endpoint, example.value, options) }),
    ...endpoint.openapiExtra,
  };
}

/** The operation of an endpoint whose keys are parameters. It is never deferred. */
function getOperation(
  endpoint: ServedEndpoint,
  parameters: oas31.ParameterObject[],
  name: string,
  schemas: SchemaComponents,
): oas31.OperationObject {
  const { summary, description, tags, plugin, openapiExtra } = endpoint;
  return {
    operationId: endpoint.name,
    summary: summary === '' ? endpoint.name : summary,
    ...(description ? { description } : {}),
    tags: [...(tags ?? [plugin ?? 'app'])],
    ...(parameters.length > 0 && { parameters }),
    responses: {
      '200': successResponse(endpoint, endpointAnswers(endpoint, name, schemas), 'never'),
      ...failures(...ENDPOINT_FAILURES),
    },
    ...openapiExtra,
  };
}

/** Returns the parameters of the path, and those of the query of an endpoint with GET. */
function parametersIn(endpoint: ServedEndpoint, name: string, schemas: SchemaComponents): oas31.ParameterObject[] {
  const {
    properties = {},
    required = [],
    $defs,
  } = endpoint.inputSchema as {
    readonly properties?: Readonly<Record<string, object>>;
    readonly required?: readonly string[];
    readonly $defs?: object;
  };
  const inPath = pathParametersOf(endpoint.path);
  const keys =
    methodOf(endpoint) === 'GET'
      ? [...inPath, ...Object.keys(properties).filter((key) => !inPath.includes(key))]
      : inPath;
  return keys.map((key) => {
    const { description, ...schema } = properties[key] as oas31.SchemaObject;
    const isReference = JSON.stringify(schema).includes('"$ref"');
    return {
      name: key,
      in: inPath.includes(key) ? 'path' : 'query',
      ...((inPath.includes(key) || required.includes(key)) && { required: true }),
      schema: isReference ? schemas.add(`${name}${pascalCase(key)}`, { ...schema, $defs }) : schema,
      ...(description !== undefined && { description }),
    };
  });
}

/** Returns the schema of an object without some of its keys. */
function withoutKeys(schema: object, keys: readonly string[]): object {
  if (keys.length === 0) return schema;
  const {
    properties = {},
    required,
    ...rest
  } = schema as {
    readonly properties?: object;
    readonly required?: readonly string[];
  };
  return {
    ...rest,
    properties: Object.fromEntries(Object.entries(properties).filter(([key]) => !keys.includes(key))),
    ...(required && { required: required.filter((key) => !keys.includes(key)) }),
  };
}

const TASK_ID: oas31.ReferenceObject = { $ref: '#/components/schemas/TaskId' };

function deferParameters(defer: Exclude<DeferOption, 'never'>): oas31.ParameterObject[] {
  return [
    ...(defer === 'optional' ? parametersOf('query', DeferQuery) : []),
    ...parametersOf('query', TaskQuery),
    ...parametersOf('header', z.object({ 'Idempotency-Key': IdempotencyKey })),
  ];
}

const BINARY: oas31.SchemaObject = {
  type: 'string',
  format: 'binary',
  description: 'An uploaded file. The input refers to it by the name of this part.',
};

function requestContent(
  endpoint: ServedEndpoint,
  input: oas31.ReferenceObject,
  upload: Example | undefined,
): oas31.ContentObject {
  const files = Object.fromEntries(fileKeys(endpoint.inputSchema).map((key) => [key, BINARY]));
  const takesFiles = Object.keys(files).length > 0;
  const encoding = { body: { contentType: 'application/json' } };
  const plain = exampleOf(endpoint, false);
  // Swagger UI fills in its form with the examples.
  const field = { ...input, ...(upload && { examples: [upload.value] }) };
  return {
    'multipart/form-data': {
      schema: {
        type: 'object',
        properties: { body: field, ...files },
        required: ['body'],
        ...(takesFiles ? { additionalProperties: BINARY } : {}),
      },
      encoding,
      ...(upload && { example: { body: upload.value } }),
    },
    'application/x-www-form-urlencoded': {
      schema: { type: 'object', properties: { body: input }, required: ['body'], additionalProperties: false },
      encoding,
      ...(plain && { example: { body: plain.value } }),
    },
    'application/json': { schema: input, ...(plain && { example: plain.value }) },
  };
}

interface Example {
  readonly value: unknown;
}

/** Returns an example that the endpoint accepts. No example is better than one that the endpoint refuses. */
function exampleOf(endpoint: ServedEndpoint, files: boolean): Example | undefined {
  try {
    const value = schemaExample(endpoint.inputSchema, { files });
    if (value === undefined || (!files && findFileReferences(endpoint.inputSchema, value).length > 0)) return undefined;
    endpoint.validate(structuredClone(value));
    return { value };
  } catch {
    return undefined;
  }
}

function samplesOf(
  { inputSchema, path, streaming, deferOption }: ServedEndpoint,
  body: unknown,
  { baseUrl, hasKeys }: EndpointOperationOptions,
): CodeSample[] {
  const isStream = streaming && deferOption !== 'always';
  return codeSamples({ url: `${baseUrl}${path}`, body, files: exampleFiles(inputSchema), isStream, hasKey: hasKeys });
}

/** Returns the names of the file parts that the example of a schema refers to. */
function exampleFiles(schema: object): string[] {
  return [...new Set(findFileReferences(schema, schemaExample(schema)).map(({ name }) => name))];
}

function jsonResponse(description: string, schema: oas31.SchemaObject | oas31.ReferenceObject): oas31.ResponseObject {
  return { description, content: { 'application/json': { schema } } };
}

function successResponse(
  { streaming }: ServedEndpoint,
  { output, json, textTypes, bytesTypes }: EndpointAnswers,
  defer: EndpointExtension['defer'],
): oas31.ResponseObject {
  const schemas = [...json, ...(defer === 'optional' ? [TASK_ID] : [])];
  const [only, ...others] = schemas;
  const description = defer === 'optional' ? ' With `defer=true`: the id of the task.' : '';
  if (!streaming)
    return {
      description: `The answer.${description}`,
      content: {
        ...(only && { 'application/json': { schema: others.length === 0 ? only : { anyOf: schemas } } }),
        ...Object.fromEntries(textTypes.map((type) => [type, { schema: { type: 'string' } }])),
        ...Object.fromEntries(bytesTypes.map((type) => [type, { schema: { type: 'string', format: 'binary' } }])),
      },
    };
  const value: oas31.MediaTypeObject = { schema: { anyOf: [output, { $ref: '#/components/schemas/Error' }] } };
  return {
    description:
      `A stream of values: concatenated JSON texts, or lines or server-sent events if \`Accept\` asks ` +
      `for them. An error after the first value ends the stream, with the four keys of an error.${description}`,
    content: {
      'application/json-seq': value,
      'application/x-ndjson': value,
      'text/event-stream': { schema: EVENT },
      ...(defer === 'optional' && { 'application/json': { schema: TASK_ID } }),
    },
  };
}

const EVENT: oas31.SchemaObject = {
  type: 'object',
  description: 'One event: a value, the error that ends the stream, or `done`.',
  properties: {
    id: { type: 'string' },
    event: { type: 'string', enum: ['message', 'error', 'done'] },
    data: { type: 'string', contentMediaType: 'application/json' },
  },
  required: ['id', 'event', 'data'],
};
