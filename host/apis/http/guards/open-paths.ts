import { CHAT_PAGE_PATHS } from '../pages/chat-page.ts';
import { DOCS_PATHS } from '../pages/docs-page.ts';
import { REDOC_PATHS } from '../pages/redoc-page.ts';
import { HEALTH_PATHS } from '../routes/health-routes.ts';

/**
 * Pages and facts about the server, which hold nothing of a user. Whole paths, so that a similar path does not open
 * another route.
 */
const DOCUMENTATION_PATHS: ReadonlySet<string> = new Set([
  '/',
  '/version',
  '/openapi.json',
  ...DOCS_PATHS,
  ...REDOC_PATHS,
  ...CHAT_PAGE_PATHS,
]);

/**
 * Whether a path needs no API key, as in the original: the pages and the health checks, which load balancers and
 * supervisors request.
 */
export function isOpenPath(path: string): boolean {
  return HEALTH_PATHS.has(path) || DOCUMENTATION_PATHS.has(path);
}

export function isDocumentationPath(path: string): boolean {
  return DOCUMENTATION_PATHS.has(path);
}
