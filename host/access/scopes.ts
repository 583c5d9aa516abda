/**
 * Parts of the host that a key can be for. `endpoints` is every endpoint and route of the application; `admin` counts
 * for keys of admins alone.
 */
export const SCOPES = ['endpoints', 'tasks', 'webhooks', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** A path of an endpoint or a route, or all below one. */
const PATH = /^(\/[A-Za-z0-9._~-]+)+(\/\*)?$/;

/** Whether a text can stand in the scopes of a key: one of {@link SCOPES}, `/video/transcribe`, or `/video/*`. */
export function isScope(text: string): boolean {
  return (SCOPES as readonly string[]).includes(text) || PATH.test(text);
}

/** What the scope of a path is. Routers match without regard to case, so this does, too. */
export function scopeOfPath(path: string): Scope {
  const [first] = path
    .toLowerCase()
    .split('/')
    .filter((part) => part !== '');
  if (first === 'api') return 'admin';
  if (first === 'tasks' || first === 'webhooks') return first;
  return 'endpoints';
}

/** Whether scopes (null: all) let a request to this path through. */
export function allowsPath(scopes: readonly string[] | null, path: string): boolean {
  const scope = scopeOfPath(path);
  return (
    scopes === null ||
    scopes.includes(scope) ||
    (scope === 'endpoints' && scopes.some((one) => one.startsWith('/') && matchesPath(one, path)))
  );
}

/**
 * Whether a key with these scopes (null: all) may read what a task of the endpoint at `path` gave: one that may run the
 * endpoint, and one that may read tasks.
 */
export function allowsResult(scopes: readonly string[] | null, path: string): boolean {
  return allowsPath(scopes, path) || scopes?.includes('tasks') === true;
}

/** Whether a path is `pattern`, or below it where that ends with `/*`. */
export function matchesPath(pattern: string, path: string): boolean {
  return pattern.endsWith('/*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}
