import { DEFER_OPTIONS, type DeferOption } from '../../../base/core/endpoint-description.ts';
import { type AanaError, fail } from '../../../base/core/errors.ts';
import { valueAt } from '../../../base/core/json/json-pointer.ts';

type Json = Readonly<Record<string, unknown>>;

/** A named schema of a document. */
export interface NamedSchema {
  readonly reference: string;
  readonly name: string;
  readonly schema: unknown;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly isRequired: boolean;
  readonly schema: unknown;
  readonly description: string;
}

interface Described {
  /** `operationId` */
  readonly id: string;
  readonly path: string;
  readonly description: string;
}

/** An endpoint of the application: a POST with the input as JSON or as a form. */
export interface EndpointOperation extends Described {
  readonly kind: 'endpoint';
  readonly input: unknown;
  readonly output: unknown;
  readonly isStreaming: boolean;
  readonly defer: DeferOption;
}

/** Another route, with an answer in JSON. */
export interface PlainOperation extends Described {
  readonly kind: 'plain';
  readonly method: string;
  readonly parameters: readonly Parameter[];
  /** Undefined if the request has no body. */
  readonly body: unknown;
  readonly answer: unknown;
}

export interface ApiDocument {
  readonly title: string;
  readonly version: string;
  readonly schemas: readonly NamedSchema[];
  readonly operations: readonly (EndpointOperation | PlainOperation)[];
}

/**
 * Returns the parts of an OpenAPI document of ours that a client needs. Throws `DocumentError` for any other document.
 */
export function readDocument(document: unknown): ApiDocument {
  if (!isObject(document) || typeof document['openapi'] !== 'string' || !document['openapi'].startsWith('3.1')) {
    throw documentError('it is not an OpenAPI 3.1 document such as the /openapi.json of a server');
  }
  const info = objectAt(document, 'info');
  const schemas = Object.entries(objectAt(objectAt(document, 'components'), 'schemas'));
  const operations = Object.entries(objectAt(document, 'paths')).flatMap(([path, item]) =>
    isObject(item) ? operationsOf(path, item, document) : [],
  );
  if (!operations.some(({ kind }) => kind === 'endpoint'))
    throw documentError(
      'it has no endpoint of aana-host (none has x-aana-endpoint): it may be the document of another server, or of ' +
        'a server that is still starting',
    );
  return {
    title: String(info['title']),
    version: String(info['version']),
    schemas: schemas.map(([name, schema]) => ({ reference: `#/components/schemas/${name}`, name, schema })),
    operations,
  };
}

const METHODS = ['get', 'put', 'post', 'patch', 'delete'];

function operationsOf(path: string, item: Json, document: Json): (EndpointOperation | PlainOperation)[] {
  return METHODS.flatMap((method): (EndpointOperation | PlainOperation)[] => {
    const operation = item[method];
    if (!isObject(operation) || operation['deprecated'] === true || typeof operation['operationId'] !== 'string')
      return [];
    const said = {
      id: operation['operationId'],
      path,
      description: [operation['summary'], operation['description']]
        .filter((text) => typeof text === 'string' && text !== '')
        .join('\n\n'),
    };
    const endpoint = operation['x-aana-endpoint'];
    if (method === 'post' && isObject(endpoint)) {
      const { streaming, defer, output } = endpoint;
      return [
        {
          kind: 'endpoint',
          ...said,
          input: jsonOf(operation['requestBody'], document) ?? true,
          output: output ?? true,
          isStreaming: streaming === true,
          defer: DEFER_OPTIONS.find((one) => one === defer) ?? 'never',
        },
      ];
    }
    const responses = objectAt(operation, 'responses');
    if ('101' in responses) return []; // a WebSocket
    const answer = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];
    const schema = jsonOf(answer, document);
    if (
      schema === undefined &&
      isObject(resolved(answer, document)) &&
      'content' in (resolved(answer, document) as Json)
    )
      return []; // a stream of events
    const body = jsonOf(operation['requestBody'], document);
    if (body === undefined && operation['requestBody'] !== undefined) return []; // a form
    const parameters = [...listAt(item, 'parameters'), ...listAt(operation, 'parameters')].flatMap((one) =>
      parameterOf(resolved(one, document)),
    );
    return [
      {
        kind: 'plain',
        ...said,
        method: method.toUpperCase(),
        parameters,
        body,
        answer: schema,
      },
    ];
  });
}

function parameterOf(parameter: unknown): Parameter[] {
  if (!isObject(parameter) || typeof parameter['name'] !== 'string') return [];
  const { name, in: where, required, schema, description } = parameter;
  if (where !== 'path' && where !== 'query') return [];
  return [
    {
      name,
      in: where,
      isRequired: required === true || where === 'path',
      schema,
      description: typeof description === 'string' ? description : '',
    },
  ];
}

/** Returns the schema of the JSON in a body or an answer. */
function jsonOf(given: unknown, document: Json): unknown {
  const content = objectAt(objectAt({ given: resolved(given, document) }, 'given'), 'content');
  return isObject(content['application/json']) ? (content['application/json']['schema'] ?? true) : undefined;
}

function resolved(value: unknown, document: Json): unknown {
  if (!isObject(value) || typeof value['$ref'] !== 'string' || !value['$ref'].startsWith('#/')) return value;
  return valueAt(document, value['$ref']);
}

function objectAt(value: Json, key: string): Json {
  return isObject(value[key]) ? value[key] : {};
}

function listAt(value: Json, key: string): readonly unknown[] {
  return Array.isArray(value[key]) ? (value[key] as unknown[]) : [];
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function documentError(reason: string): AanaError {
  return fail('DocumentError', `no client can be made: ${reason}`);
}
