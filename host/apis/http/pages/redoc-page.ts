import { readFile } from 'node:fs/promises';
import type { Router } from '@koa/router';
import { fail } from '../../../base/core/errors.ts';
import { remembered } from '../../../base/core/remembered.ts';
import { asset, serveAsset, servePage } from './static-page.ts';

const JAVASCRIPT = 'text/javascript; charset=utf-8';
const INIT = "Redoc.init('openapi.json', { hideDownloadButton: false }, document.getElementById('redoc'));\n";

/** The only file that the bundle loads from another server: a logo under the menu. */
const LOGO = 'https://cdn.redoc.ly/redoc/logo-mini.svg';
const NOTHING = 'data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=';

/** Time after which a bundle that could not be fetched is tried again. */
const FAILURE_MS = 1000;

/** All paths that `redocRoutes` adds. */
export const REDOC_PATHS: readonly string[] = ['/redoc', '/redoc/init.js', '/redoc/redoc.standalone.js'];

/** Adds `/redoc`, the documentation of `/openapi.json` for readers. `bundle` returns the file of Redoc's own bundle. */
export function redocRoutes(router: Router, title: string, bundle: () => Promise<string>): void {
  const found = async (): Promise<string> => {
    try {
      return await bundle();
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw fail(
        'RedocNotFound',
        `Redoc is not on this machine and cannot be fetched: ${reason}; run \`aana-host setup\`, or use /docs, ` +
          `which needs no download`,
        { cause },
      );
    }
  };
  router.get('/redoc', async (ctx) => {
    await found();
    servePage(ctx, {
      title,
      policy: "style-src 'self' 'unsafe-inline'; worker-src blob:", // styled-components, and the index of the search
      styles: [],
      scripts: ['redoc/redoc.standalone.js', 'redoc/init.js'],
      icon: 'docs/favicon-32x32.png',
      id: 'redoc',
    });
  });
  const init = asset(JAVASCRIPT, INIT);
  router.get('/redoc/init.js', (ctx) => serveAsset(ctx, init));
  const script = remembered(
    async () => asset(JAVASCRIPT, (await readFile(await found(), 'utf8')).replaceAll(LOGO, NOTHING)),
    FAILURE_MS,
  );
  router.get('/redoc/redoc.standalone.js', async (ctx) => serveAsset(ctx, await script()));
}
