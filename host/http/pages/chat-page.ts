import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Router } from '@koa/router';
import { packageRoot } from '../../core/package-root.ts';
import { remembered } from '../../core/remembered.ts';
import { type AssetFiles, assetRoutes, escaped, FAILURE_MS, serveHtml, THEME_FILE } from './static-page.ts';

const SOURCES = join(packageRoot, 'host/http/pages/chat');
const SCRIPTS = ['main', 'answer-view', 'api', 'curl', 'dropped-files', 'elements', 'markdown', 'settings'];

/** The files of the page by their paths. */
const ASSETS: AssetFiles = {
  '/chat/theme.css': { type: 'text/css; charset=utf-8', file: THEME_FILE },
  '/chat/page.css': { type: 'text/css; charset=utf-8', file: join(SOURCES, 'page.css') },
  ...Object.fromEntries(
    SCRIPTS.map((name) => [
      `/chat/${name}.js`,
      { type: 'text/javascript; charset=utf-8', file: new URL(`./chat/${name}.js`, import.meta.url) },
    ]),
  ),
};

/** All paths that `chatPageRoutes` adds. */
export const CHAT_PAGE_PATHS: readonly string[] = ['/chat', ...Object.keys(ASSETS)];

/** Adds `/chat`, a page on which people talk to the models through `/v1/chat/completions`, and read the words of files. */
export function chatPageRoutes(router: Router, title: string): void {
  const page = remembered(async () => {
    const html = await readFile(join(SOURCES, 'page.html'), 'utf8');
    return html.replaceAll('{{title}}', () => escaped(title));
  }, FAILURE_MS);
  router.get('/chat', async (ctx) => serveHtml(ctx, "style-src 'self'", await page()));
  assetRoutes(router, ASSETS);
}
