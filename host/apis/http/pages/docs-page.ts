import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Router } from '@koa/router';
import { asset, type AssetFiles, assetRoutes, serveAsset, servePage } from './static-page.ts';

const ICON = 'favicon-32x32.png';
const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  [ICON]: 'image/png',
};

/** All paths that `docsRoutes` adds. */
export const DOCS_PATHS: readonly string[] = [
  '/docs',
  '/docs/init.js',
  ...Object.keys(ASSETS).map((name) => `/docs/${name}`),
];

const assetFolder = (): string => dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

/** Returns the path of the icon of all pages. */
export const iconFile = (): string => join(assetFolder(), ICON);

const NOTHING_TO_LOG_IN_TO = '() => ({ wrapComponents: { authorizeBtn: () => () => null } })';

const init = (hasKeys: boolean): string => `window.ui = SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [${hasKeys ? '' : NOTHING_TO_LOG_IN_TO}],
});
`;

/**
 * Adds `/docs`, the interactive documentation of `/openapi.json`. With `hasKeys` it accepts an API key and sends it
 * with requests.
 */
export function docsRoutes(router: Router, title: string, hasKeys: boolean): void {
  const folder = assetFolder();
  router.get('/docs', (ctx) =>
    servePage(ctx, {
      title,
      policy: "style-src 'self' 'unsafe-inline'",
      styles: ['docs/swagger-ui.css'],
      scripts: ['docs/swagger-ui-bundle.js', 'docs/init.js'],
      icon: `docs/${ICON}`,
      id: 'swagger-ui',
    }),
  );
  const script = asset('text/javascript; charset=utf-8', init(hasKeys));
  router.get('/docs/init.js', (ctx) => serveAsset(ctx, script));
  const files = Object.entries(ASSETS).map(([name, type]) => [`/docs/${name}`, { type, file: join(folder, name) }]);
  assetRoutes(router, Object.fromEntries(files) as AssetFiles);
}
