import { DOCS_PATHS } from '../pages/docs-page.ts';
import { REDOC_PATHS } from '../pages/redoc-page.ts';

/**
 * What tells whether the host is up. It needs no key and counts for no limit, since balancers and supervisors ask for
 * it.
 */
const HEALTH_PATHS: ReadonlySet<string> = new Set(['/api/ready', '/readyz', '/livez']);

/** These are whole paths, so that no other route is open because it looks like one of them. */
const DOCUMENTATION_PATHS: ReadonlySet<string> = new Set(['/openapi.json', ...DOCS_PATHS, ...REDOC_PATHS]);

/** Whether a path needs no API key, as in the original: documentation, and whether the host is up. */
export function isOpenPath(path: string): boolean {
  return HEALTH_PATHS.has(path) || DOCUMENTATION_PATHS.has(path);
}

export function isDocumentationPath(path: string): boolean {
  return DOCUMENTATION_PATHS.has(path);
}
