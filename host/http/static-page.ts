import type { Context } from 'koa';

export interface StaticPage {
  readonly title: string;
  /** Sources that its content security policy names besides its own server: directives of their own. */
  readonly policy: string;
  /** Addresses relative to the page's own, so that it works wherever the application is mounted. */
  readonly styles: readonly string[];
  readonly scripts: readonly string[];
  readonly icon: string;
  /** The element that the scripts fill. */
  readonly id: string;
}

/** Everything comes from this server, nothing is inline, and no other page shows it. */
const POLICY = "default-src 'none'; script-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function servePage(ctx: Context, { title, policy, styles, scripts, icon, id }: StaticPage): void {
  const safe = title.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  ctx.set('content-security-policy', `${POLICY}; ${policy}`);
  ctx.type = 'text/html; charset=utf-8';
  ctx.body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${safe}</title>
${styles.map((href) => `<link rel="stylesheet" href="${href}">\n`).join('')}<link rel="icon" type="image/png" href="${icon}">
</head>
<body>
<div id="${id}"></div>
${scripts.map((src) => `<script src="${src}"></script>\n`).join('')}</body>
</html>
`;
}

/** What a page is made of: kept by browsers for an hour. */
export function serveAsset(ctx: Context, type: string, content: Buffer | string): void {
  ctx.type = type;
  ctx.set('cache-control', 'max-age=3600');
  ctx.body = content;
}
