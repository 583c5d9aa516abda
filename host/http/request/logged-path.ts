import type { Context } from 'koa';
import { API_KEY_PREFIX } from '../../access/index.ts';
import { UUID } from '../../core/ids.ts';
import { keyIn } from '../guards/api-key-guard.ts';
import type { HttpAppOptions } from '../options.ts';

const HIDDEN = '…';
const OWN_KEY = new RegExp(`${API_KEY_PREFIX}[0-9A-Za-z]+`, 'g');
const SHORTEST_KEY = 16;
/** Answers to requests that reached nothing, or not what they meant. */
const REFUSED: ReadonlySet<number> = new Set([401, 403, 404, 405, 422, 429]);

/**
 * Hides API keys in what the log says of a request: somebody puts one into a path sooner or later. Those that begin
 * like ours are known by that, and so is the one that the request shows. Others look like anything; where keys are
 * asked for, each long part of a path that was refused may be one, unless it is the id of a task or part of an
 * endpoint's path.
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
