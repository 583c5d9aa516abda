import type { oas31 } from 'openapi3-ts';
import { API_KEY_PATHS } from './openapi-keys.ts';
import { isOpenPath } from './open-paths.ts';

export interface Guards {
  readonly hasApiKeys: boolean;
  readonly hasRateLimits: boolean;
}

/** How requests show an API key: one of these is enough. */
const SCHEMES: Readonly<Record<string, oas31.SecuritySchemeObject>> = {
  ApiKeyAuth: { type: 'apiKey', in: 'header', name: 'x-api-key' },
  BearerAuth: { type: 'http', scheme: 'bearer', description: 'The API key.' },
};

const text = (description: string): oas31.HeaderObject => ({ description, schema: { type: 'string' } });
const error = (description: string, headers: oas31.HeadersObject): oas31.ResponseObject => ({ description, headers, content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } });
const unauthenticated = error('There is no API key, or one that is not known or has expired.', { 'WWW-Authenticate': text('The scheme, and what is wrong with the key.') });
const forbidden = error('The API key is not for this (its scopes, its user or the subscription), or a page of an origin that is not allowed asks.', {});
const tooMany = error('Over a rate limit.', {
  'Retry-After': { description: 'Seconds to wait before another try.', schema: { type: 'integer', minimum: 0 } },
  'RateLimit-Policy': text('The limits: requests (`q`) in seconds (`w`).'),
  RateLimit: text('What is left of each: requests (`r`), and seconds until there are more (`t`).'),
});

/** Says in a document what the guards ask for and answer. */
export function withGuards(document: oas31.OpenAPIObject, { hasApiKeys, hasRateLimits }: Guards): oas31.OpenAPIObject {
  const paths: oas31.PathsObject = { ...document.paths, ...(hasApiKeys && API_KEY_PATHS) };
  const refusals = { ...(hasApiKeys && { 401: unauthenticated }), ...(hasRateLimits && { 429: tooMany }) };
  const guarded = Object.entries(paths).map(([path, item]) => [path, isOpenPath(path) ? mapOperations(item, open) : mapOperations(item, refuse)]);

  function open(operation: oas31.OperationObject): oas31.OperationObject {
    return hasApiKeys ? { ...operation, security: [] } : operation;
  }
  function refuse(operation: oas31.OperationObject, method: string): oas31.OperationObject {
    return { ...operation, responses: { ...((hasApiKeys || method !== 'get') && { 403: forbidden }), ...operation.responses, ...refusals } };
  }
  if (!hasApiKeys) return { ...document, paths: Object.fromEntries(guarded) };
  return {
    ...document,
    paths: Object.fromEntries(guarded),
    tags: [...(document.tags ?? []), { name: 'keys', description: 'API keys, for admins.' }],
    components: { ...document.components, securitySchemes: { ...SCHEMES, ...document.components?.securitySchemes } },
    security: document.security?.length ? document.security : Object.keys(SCHEMES).map((name) => ({ [name]: [] })),
  };
}

const METHODS = ['get', 'put', 'post', 'delete'] as const;

function mapOperations(item: oas31.PathItemObject, change: (operation: oas31.OperationObject, method: string) => oas31.OperationObject): oas31.PathItemObject {
  return { ...item, ...Object.fromEntries(METHODS.flatMap((method) => (item[method] ? [[method, change(item[method], method)]] : []))) };
}
