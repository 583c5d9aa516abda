import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Router } from '@koa/router';
import { packageRoot } from '../../../base/core/package-root.ts';
import { remembered } from '../../../base/core/remembered.ts';
import { iconFile } from './docs-page.ts';
import { escaped, FAILURE_MS, serveHtml, THEME_FILE } from './static-page.ts';

const SOURCES = join(packageRoot, 'host/apis/http/pages/chat');
const SCRIPT = join(packageRoot, 'bundle/host/apis/http/pages/chat/main.js');

/** All paths that `chatPageRoutes` adds. */
export const CHAT_PAGE_PATHS: readonly string[] = ['/chat'];

interface InlinePage {
  readonly html: string;
  /** The directives of its content security policy: the hashes of its script and its style, and nothing else. */
  readonly scripts: string;
  readonly styles: string;
}

/**
 * Adds `/chat`, a page on which people talk to the models through `/v1/chat/completions`, read the words of files, and
 * hear the passages of them that answers quote.
 */
export function chatPageRoutes(router: Router, title: string): void {
  const page = remembered(() => inlinePage(title), FAILURE_MS);
  router.get('/chat', async (ctx) => {
    const { html, scripts, styles } = await page();
    serveHtml(ctx, `style-src ${styles}; media-src blob:`, html, scripts);
  });
}

/** Makes one document of the files of the page, which needs no other file. */
async function inlinePage(title: string): Promise<InlinePage> {
  const [html, theme, css, icon, code] = await Promise.all([
    readFile(join(SOURCES, 'page.html'), 'utf8'),
    readFile(THEME_FILE, 'utf8'),
    readFile(join(SOURCES, 'page.css'), 'utf8'),
    readFile(iconFile(), 'base64'),
    readFile(SCRIPT, 'utf8'),
  ]);
  const script = code.replaceAll(/<(?=\/script|!--)/gi, String.raw`\x3c`); // these would end it
  const style = `\n${theme}\n${css}`;
  return {
    html: html
      .replaceAll('{{title}}', () => escaped(title))
      .replace('{{icon}}', () => `data:image/png;base64,${icon}`)
      .replace('<!-- style -->', () => `<style>${style}</style>`)
      .replace('<!-- script -->', () => `<script type="module">${script}</script>`),
    scripts: hashOf(script),
    styles: hashOf(style),
  };
}

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
