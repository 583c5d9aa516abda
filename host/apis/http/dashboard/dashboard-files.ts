import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Router } from '@koa/router';
import { packageRoot } from '../../../base/core/package-root.ts';
import { remembered } from '../../../base/core/remembered.ts';
import { type AssetFiles, assetRoutes, escaped, FAILURE_MS, serveHtml, THEME_FILE } from '../pages/static-page.ts';

const SOURCES = join(packageRoot, 'host/apis/http/dashboard/page');
/** Modules of the page, without their types in `bundle/`. */
const MODULES = [
  'main',
  'api',
  'apply',
  'events',
  'format',
  'key-dialog',
  'change-words',
  'chart',
  'devices',
  'dialog',
  'parts',
  'router',
  'session',
  'state',
  'stream',
  'stream-worker',
  'waterfall',
  'pages/configuration',
  'pages/deployments',
  'pages/endpoints',
  'pages/keys',
  'pages/logs',
  'pages/models',
  'pages/overview',
  'pages/requests',
  'pages/task',
  'pages/tasks',
  'pages/webhooks',
];

const require = createRequire(import.meta.url);
/** Modules of packages, by the name under which the page's modules import them. */
const PACKAGES: Readonly<Record<string, string>> = {
  preact: fileOf('preact', 'dist/preact.mjs'),
  'preact/hooks': fileOf('preact', 'hooks/dist/hooks.mjs'),
  'preact/jsx-runtime': fileOf('preact', 'jsx-runtime/dist/jsxRuntime.mjs'),
  uplot: fileOf('uplot', 'dist/uPlot.esm.js'),
};

const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

/** The files of the page by their paths. */
const ASSETS: AssetFiles = {
  '/assets/theme.css': { type: STYLE, file: THEME_FILE },
  '/assets/page.css': { type: STYLE, file: join(SOURCES, 'page.css') },
  '/assets/uplot.css': { type: STYLE, file: fileOf('uplot', 'dist/uPlot.min.css') },
  ...Object.fromEntries(
    MODULES.map((name) => [
      `/assets/${name}.js`,
      { type: SCRIPT, file: join(packageRoot, `bundle/host/apis/http/dashboard/page/${name}.js`) },
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(PACKAGES).map(([name, file]) => [`/assets/packages/${name}.js`, { type: SCRIPT, file }]),
  ),
};

/** Tells browsers where the modules of packages are. It is inline, as it must be, so the policy names its hash. */
const IMPORT_MAP = JSON.stringify({
  imports: Object.fromEntries(Object.keys(PACKAGES).map((name) => [name, `/assets/packages/${name}.js`])),
});
const MAP_HASH = createHash('sha256').update(IMPORT_MAP).digest('base64');
const POLICY = "worker-src 'self'; style-src 'self'";

/** Whether a path has a file of the page. They hold nothing of the application. */
export function isDashboardFile(path: string): boolean {
  return path === '/' || Object.hasOwn(ASSETS, path);
}

/** Adds the page at `/` and its files. */
export function dashboardFiles(router: Router, title: string): void {
  const page = remembered(async () => {
    const html = await readFile(join(SOURCES, 'page.html'), 'utf8');
    return html
      .replaceAll('{{title}}', () => escaped(title))
      .replace('<!-- imports -->', () => `<script type="importmap">${IMPORT_MAP}</script>`);
  }, FAILURE_MS);
  router.get('/', async (ctx) => serveHtml(ctx, POLICY, await page(), `'self' 'sha256-${MAP_HASH}'`));
  assetRoutes(router, ASSETS);
}

function fileOf(name: string, path: string): string {
  return join(dirname(require.resolve(`${name}/package.json`)), path);
}
