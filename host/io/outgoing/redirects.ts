import { connectChecked } from './connect.ts';
import { downloadError } from './errors.ts';
import { type Answer, type Hop, send } from './exchange.ts';
import { type ActiveGuards, requireAsked, requireHttp } from './guards.ts';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Headers that describe the body and are sent together with it. */
const DESCRIBES_BODY = /^content-/i;

/**
 * Returns further headers of one request, which a redirect does not take along, or undefined when no request is needed.
 */
export type PrepareHop = (hop: Hop) => Promise<Hop['headers'] | undefined>;

/**
 * Sends the request and follows redirects. Each hop uses a new connection to a checked address, so that neither a
 * changing DNS answer nor a redirect can lead to a private address. Returns undefined where `prepare` does.
 */
export function follow(first: Hop, options: ActiveGuards): Promise<Answer>;
export function follow(first: Hop, options: ActiveGuards, prepare: PrepareHop | undefined): Promise<Answer | undefined>;
export async function follow(
  first: Hop,
  options: ActiveGuards,
  prepare: PrepareHop = async () => [],
): Promise<Answer | undefined> {
  let hop = first;
  for (let hops = 0; ; hops++) {
    requireAsked(hop.url, options);
    const further = await prepare(hop);
    if (!further) return undefined;
    const { method, url, headers, body } = hop;
    const asked = { method, url, headers: [...headers, ...further], body };
    const message = await send(asked, await connectChecked(hop.url, options), options);
    const location = message.headers.location;
    if (options.maxRedirects === 0 || location === undefined || !REDIRECTS.has(message.statusCode ?? 0))
      return { url: hop.url, message };
    message.destroy();
    if (hops >= options.maxRedirects)
      throw downloadError(first.url, `it redirects more than ${options.maxRedirects} times`);
    hop = redirected(first.url, hop, message.statusCode ?? 0, location);
  }
}

/**
 * Returns the request after a redirect, like browsers: 303 becomes GET, 301 and 302 only after POST. Another
 * origin gets none of the caller's headers, because any of them may contain a key.
 */
function redirected(start: URL, { method, url: from, headers, body }: Hop, status: number, location: string): Hop {
  const url = redirectTarget(start, from, location);
  url.username = '';
  url.password = '';
  const isSameOrigin = url.origin === from.origin;
  const becomesGet = status === 303 ? method !== 'GET' && method !== 'HEAD' : method === 'POST' && status <= 302;
  const kept = headers.filter(([name]) =>
    DESCRIBES_BODY.test(name) ? body !== undefined && !becomesGet : isSameOrigin,
  );
  return becomesGet ? { method: 'GET', url, headers: kept } : { method, url, headers: kept, body };
}

/** Returns the target of a redirect from `from`. Errors name `start`, which the client knows. */
function redirectTarget(start: URL, from: URL, location: string): URL {
  let url: URL;
  try {
    url = new URL(location, from);
  } catch (error) {
    throw downloadError(start, 'it redirects to something that is not a URL', error);
  }
  requireHttp(start, url);
  return url;
}
