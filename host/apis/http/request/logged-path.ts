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
 * Returns a function that hides in log lines about a request what is not for the log. For an endpoint with parameters
 * in its path it writes the template, because a parameter is input, and can be a token. It also hides API keys, because
 * clients put keys into paths by mistake: it hides the key that the request shows, and texts that begin like the keys
 * of this package. Other keys can look like anything. So with API keys it also hides each long part of the path of a
 * refused request, unless the part is the id of a task or belongs to the path of an endpoint.
 */
export function logHider(
  ctx: Context,
  status: number,
  { apiKeys, registry }: Pick<HttpAppOptions, 'apiKeys' | 'registry'>,
): (text: string) => string {
  const shown = apiKeys && keyIn(ctx);
  const endpoint = registry.find(ctx.path);
  const mayHaveKeys = apiKeys !== undefined && REFUSED.has(status) && endpoint === undefined;
  const parts = mayHaveKeys
    ? ctx.path.split('/').filter((part) => part.length >= SHORTEST_KEY && !UUID.test(part))
    : [];
  const secrets = [
    ...(shown === undefined || shown.length < SHORTEST_KEY ? [] : [shown, encodeURIComponent(shown)]),
    ...parts,
  ];
  const { path } = ctx;
  const template = endpoint?.path ?? path;
  return (text) => {
    const shownPath = template === path ? text : text.replaceAll(path, () => template);
    return secrets.reduce(
      (rest, secret) => rest.replaceAll(secret, HIDDEN),
      shownPath.replaceAll(OWN_KEY, `${API_KEY_PREFIX}${HIDDEN}`),
    );
  };
}
