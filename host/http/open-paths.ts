import { DOCS_PATHS } from './docs-page.ts';
import { REDOC_PATHS } from './redoc-page.ts';

/** What tells whether the host is up. It needs no key and counts for no limit, since balancers and supervisors ask for it. */
const HEALTH_PATHS: ReadonlySet<string> = new Set(['/api/ready', '/readyz', '/livez']);

/** What is there for everybody, as in the original. These are whole paths, so that no other route is open because it looks like one of them. */
const OPEN_PATHS: ReadonlySet<string> = new Set([...HEALTH_PATHS, '/openapi.json', ...DOCS_PATHS, ...REDOC_PATHS]);

/** Whether a path needs no API key. */
export function isOpenPath(path: string): boolean {
  return OPEN_PATHS.has(path);
}
