import { matchesPattern, PATH_PATTERN } from '../../base/core/net/route-paths.ts';

/**
 * Parts of the host to which a key can be limited. `endpoints` is every endpoint and route of the application. `admin`
 * has an effect only for keys of admins.
 */
export const SCOPES = ['endpoints', 'tasks', 'webhooks', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

const MODEL = 'model:';
/** Routes that run a model which the request names. */
const MODEL_PATH = /^\/(v1\/|chat\/completions$|asr\/live$)/i;
/** The route that runs an endpoint which the request names. */
const TOOLS_PATH = '/mcp';

/**
 * Returns whether a text is a valid scope: one of {@link SCOPES}, a path such as `/video/transcribe`, `/items/{id}` or
 * `/video/*`, or `model:` with the name of a deployment.
 */
export function isScope(text: string): boolean {
  return (
    (SCOPES as readonly string[]).includes(text) || PATH_PATTERN.test(text) || /^model:[^\s\p{C}]{1,255}$/u.test(text)
  );
}

/** Returns the scope of a path. Routers ignore case, and so does this function. */
export function scopeOfPath(path: string): Scope {
  const [first] = path
    .toLowerCase()
    .split('/')
    .filter((part) => part !== '');
  if (first === 'api' || first === 'metrics') return 'admin';
  if (first === 'tasks' || first === 'webhooks') return first;
  return 'endpoints';
}

/**
 * Returns whether the scopes (null: all) allow a request to this path, at least for some models or endpoints.
 * `template` is the path of the endpoint there, such as `/items/{id}`.
 */
export function allowsPath(scopes: readonly string[] | null, path: string, template?: string): boolean {
  if (path === TOOLS_PATH && scopes?.some((scope) => scope.startsWith('/')) === true) return true;
  return allowsWholePath(scopes, path, template) || allowedDeployments(scopes, path)?.size !== 0;
}

/**
 * Returns the deployments that the scopes (null: all) allow to requests to a path which name a model; null for all
 * deployments. A scope for the path allows all of them, and each scope of a model one.
 */
export function allowedDeployments(scopes: readonly string[] | null, path: string): ReadonlySet<string> | null {
  if (scopes === null || allowsWholePath(scopes, path)) return null;
  const models = MODEL_PATH.test(path) ? scopes.filter((scope) => scope.startsWith(MODEL)) : [];
  return new Set(models.map((scope) => scope.slice(MODEL.length)));
}

function allowsWholePath(scopes: readonly string[] | null, path: string, template?: string): boolean {
  const scope = scopeOfPath(path);
  return (
    scopes === null ||
    scopes.includes(scope) ||
    (scope === 'endpoints' && scopes.some((one) => one.startsWith('/') && matchesPattern(one, path, template)))
  );
}

/**
 * Returns whether a key with these scopes (null: all) may read the result of a task of the endpoint with the path
 * `path`. The key must be allowed to run the endpoint, or to read tasks.
 */
export function allowsResult(scopes: readonly string[] | null, path: string): boolean {
  return allowsPath(scopes, path, path) || scopes?.includes('tasks') === true;
}
