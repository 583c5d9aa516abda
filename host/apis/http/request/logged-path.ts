import type { Context } from 'koa';
import { API_KEY_PREFIX } from '../../../data/access/index.ts';
import { UUID } from '../../../base/core/ids.ts';
import { keyIn } from '../guards/offered-key.ts';
import type { HttpAppOptions } from '../options.ts';

const HIDDEN = '…';
const OWN_KEY = new RegExp(`${API_KEY_PREFIX}[0-9A-Za-z]+`, 'g');
const SHORTEST_KEY = 16;
/** Statuses of requests that reached nothing, or not the intended thing. */
const REFUSED: ReadonlySet<number> = new Set([401, 403, 404, 405, 422, 429]);

/**
 * Returns a function that hides API keys in log lines about a request, because clients put keys into paths by mistake.
 * It hides the key that the request shows, and texts that begin like the keys of this package. Other keys can look like
 * anything. So with API keys it also hides each long part of the path of a refused request, unless the part is the id
 * of a task or belongs to the path of an endpoint.
 */
export function keyHider(
  ctx: Context,
  status: number,
  { apiKeys, registry }: Pick<HttpAppOptions, 'apiKeys' | 'registry'>,
): (text: string) => string {
  const shown = apiKeys && keyIn(ctx);
  const mayHaveKeys = apiKeys !== undefined && REFUSED.has(status) && registry.find(ctx.path) === undefined;
  const parts = mayHaveKeys
    ? ctx.path.split('/').filter((part) => part.length >= SHORTEST_KEY && !UUID.test(part))
    : [];
  const secrets = [
    ...(shown === undefined || shown.length < SHORTEST_KEY ? [] : [shown, encodeURIComponent(shown)]),
    ...parts,
  ];
  return (text) =>
    secrets.reduce(
      (rest, secret) => rest.replaceAll(secret, HIDDEN),
      text.replaceAll(OWN_KEY, `${API_KEY_PREFIX}${HIDDEN}`),
    );
}
