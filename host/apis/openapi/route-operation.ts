import type { oas31 } from 'openapi3-ts';
import type * as z from 'zod';
import { BODY_FAILURES, failuresOf } from './failures.ts';
import { jsonSchemaOf } from './json-schema-of.ts';
import { type RouteAnswer, type RouteDefinition, tagOf, whereOf } from './route-definition.ts';
import { PATH_PARAMETERS } from './values.ts';

/** Returns the paths of routes with their operations, in the order of the routes. */
export function pathsOf(routes: readonly RouteDefinition[]): oas31.PathsObject {
  const paths: oas31.PathsObject = {};
  for (const route of routes) {
    const { method, path } = whereOf(route);
    const parameters = pathParameters(path);
    paths[path] ??= parameters.length > 0 ? { parameters } : {};
    paths[path][method] = operationOf(route);
  }
  return paths;
}

function operationOf(route: RouteDefinition): oas31.OperationObject {
  const { id, summary, query, body, form, answers, fails, isDeprecated } = route;
  const tag = tagOf(route);
  return {
    operationId: id,
    summary,
    tags: [tag],
    ...(isDeprecated && { deprecated: true }),
    ...(query && { parameters: parametersOf('query', query) }),
    ...(body && { requestBody: requestBodyOf('application/json', body) }),
    ...(form && { requestBody: requestBodyOf('multipart/form-data', form) }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, responseOf(answer)])),
      ...failuresOf([tag], [...fails, ...(body || form ? BODY_FAILURES : [])]),
    },
  };
}

function requestBodyOf(type: string, schema: z.ZodType): oas31.RequestBodyObject {
  return { required: true, content: { [type]: { schema: jsonSchemaOf(schema) } } };
}

function responseOf({ description, schema, type, events, text }: RouteAnswer): oas31.ResponseObject {
  return {
    description,
    content: {
      [type ?? 'application/json']: { schema: jsonSchemaOf(schema) },
      ...(text && { [text]: { schema: { type: 'string' } } }),
      ...(events && { 'text/event-stream': { schema: jsonSchemaOf(events) } }),
    },
  };
}

function pathParameters(path: string): oas31.ParameterObject[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: jsonSchemaOf(PATH_PARAMETERS[name as keyof typeof PATH_PARAMETERS]),
  }));
}

/** Returns the parameters of a query, or headers, that an object schema describes. All of them are optional. */
export function parametersOf(place: 'query' | 'header', { shape }: z.ZodObject): oas31.ParameterObject[] {
  return Object.entries(shape).map(([name, value]) => {
    const { description, ...schema } = jsonSchemaOf(value as z.ZodType);
    return { name, in: place, schema, ...(description !== undefined && { description }) };
  });
}
