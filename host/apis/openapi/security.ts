import type { oas31 } from 'openapi3-ts';
import { type ErrorStatus, failuresOf } from './failures.ts';

export interface Guards {
  /** Whether the path needs no API key and counts for no rate limit. */
  readonly isOpen: (path: string) => boolean;
  /** Whether the name in `Host` must be one of the server. */
  readonly checksHost: boolean;
  readonly hasApiKeys: boolean;
  readonly hasRateLimits: boolean;
}

/** Schemes of an API key. A request needs one of them. */
const SCHEMES: Readonly<Record<string, oas31.SecuritySchemeObject>> = {
  ApiKeyAuth: { type: 'apiKey', in: 'header', name: 'x-api-key' },
  BearerAuth: { type: 'http', scheme: 'bearer', description: 'The API key.' },
};

/**
 * Statuses of the guard of API keys: no known key, no right, too many unknown keys from one address, and no access to
 * the database of keys.
 */
const KEY_REFUSALS = [401, 403, 429, 503] as const satisfies readonly ErrorStatus[];

/** Adds the requirements of the guards to a document, and the statuses with which they refuse requests. */
export function withGuards(
  document: oas31.OpenAPIObject,
  { isOpen, checksHost, hasApiKeys, hasRateLimits }: Guards,
): oas31.OpenAPIObject {
  const guarded = Object.entries(document.paths ?? {}).map(([path, item]) => [
    path,
    mapOperations(item, (operation, method) => guard(operation, method, isOpen(path))),
  ]);

  function guard(operation: oas31.OperationObject, method: string, needsNoKey: boolean): oas31.OperationObject {
    const refusesPages = method !== 'get'; // pages of other origins may only read
    const statuses: readonly ErrorStatus[] = [
      ...(checksHost ? [421 as const] : []),
      ...(needsNoKey
        ? []
        : [
            ...(hasApiKeys ? KEY_REFUSALS : refusesPages ? [403 as const] : []),
            ...(hasRateLimits ? [429 as const] : []),
          ]),
    ];
    return {
      ...operation,
      ...(hasApiKeys && needsNoKey && { security: [] }),
      responses: { ...failuresOf(operation.tags ?? [], statuses), ...operation.responses },
    };
  }
  if (!hasApiKeys) return { ...document, paths: Object.fromEntries(guarded) };
  return {
    ...document,
    paths: Object.fromEntries(guarded),
    components: { ...document.components, securitySchemes: { ...SCHEMES, ...document.components?.securitySchemes } },
    security: document.security?.length ? document.security : Object.keys(SCHEMES).map((name) => ({ [name]: [] })),
  };
}

const METHODS = ['get', 'put', 'post', 'delete'] as const;

function mapOperations(
  item: oas31.PathItemObject,
  change: (operation: oas31.OperationObject, method: string) => oas31.OperationObject,
): oas31.PathItemObject {
  return {
    ...item,
    ...Object.fromEntries(METHODS.flatMap((method) => (item[method] ? [[method, change(item[method], method)]] : []))),
  };
}
