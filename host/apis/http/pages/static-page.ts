import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { packageRoot } from '../../../base/core/package-root.ts';
import { remembered } from '../../../base/core/remembered.ts';
import { encoded, encodingFor } from '../response/encoded-body.ts';

export interface StaticPage {
  readonly title: string;
  /** Additional directives of its content security policy, for sources besides its own server. */
  readonly policy: string;
  /** Addresses relative to the page, so that it works wherever the application is mounted. */
  readonly styles: readonly string[];
  readonly scripts: readonly string[];
  readonly icon: string;
  /** The element that the scripts fill. */
  readonly id: string;
}

/**
 * Everything comes from this server, inline is only what a directive names, and no other page may show the page in a
 * frame.
 */
const POLICY =
  "default-src 'none'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'none'";

export function servePage(ctx: Context, { title, policy, styles, scripts, icon, id }: StaticPage): void {
  serveHtml(
    ctx,
    policy,
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
${styles.map((href) => `<link rel="stylesheet" href="${href}">\n`).join('')}\
<link rel="icon" type="image/png" href="${icon}">
</head>
<body>
<div id="${id}"></div>
${scripts.map((src) => `<script src="${src}"></script>\n`).join('')}</body>
</html>
`,
  );
}

/**
 * Sends a page with the policy of all pages and more directives. `scripts` has the sources of scripts: files of this
 * server, or the hashes of scripts in the page.
 */
export function serveHtml(ctx: Context, policy: string, html: string, scripts = "'self'"): void {
  ctx.set('content-security-policy', `${POLICY}; script-src ${scripts}; ${policy}`);
  ctx.type = 'text/html; charset=utf-8';
  ctx.body = html;
}

/** Returns a text as HTML. */
export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** A file of a page, read once. Browsers keep it for an hour and then ask whether it has changed. */
export interface Asset {
  readonly type: string;
  readonly content: Buffer;
  readonly etag: string;
}

export function asset(type: string, content: Buffer | string): Asset {
  const bytes = Buffer.from(content);
  return { type, content: bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` };
}

/** Time after which a file that could not be read is tried again. */
export const FAILURE_MS = 1000;

/** The colours of all pages. */
export const THEME_FILE = join(packageRoot, 'host/apis/http/pages/theme.css');

/** Files of a page by their paths. */
export type AssetFiles = Readonly<Record<string, { readonly type: string; readonly file: string | URL }>>;

/** Adds a route for each file, which is read at the first request. */
export function assetRoutes(router: Router, files: AssetFiles): void {
  for (const [path, { type, file }] of Object.entries(files)) {
    const read = remembered(async () => asset(type, await readFile(file)), FAILURE_MS);
    router.get(path, async (ctx) => serveAsset(ctx, await read()));
  }
}

export async function serveAsset(ctx: Context, { type, content, etag }: Asset): Promise<void> {
  ctx.type = type;
  ctx.set('cache-control', 'max-age=3600');
  await serveUnchanged(ctx, etag, content);
}

/**
 * Sends a body of the type of the answer, compressed if the client accepts it, or 304 to a client that already has it.
 * Each encoding has a tag of its own. A client with `cache-control: no-cache` gets 304 too, because `fetch` of Node
 * sends this header with `if-none-match`.
 */
export async function serveUnchanged(ctx: Context, tag: string, body: Buffer): Promise<void> {
  const encoding = encodingFor(ctx, body);
  const etag = encoding ? tag.replace(/"$/, `-${encoding}"`) : tag;
  ctx.set('etag', etag);
  const had = ctx
    .get('if-none-match')
    .split(',')
    .map((one) => one.trim().replace(/^W\//, ''));
  if (had.includes(etag)) {
    ctx.status = 304;
    return;
  }
  if (encoding) ctx.set('content-encoding', encoding);
  ctx.body = encoding ? await encoded(body, encoding) : body;
}
