import { type IncomingMessage, type OutgoingHttpHeaders, request as httpRequest } from 'node:http';
import { AanaError } from '../core/errors.ts';
import { type Connection, connectChecked } from './connect.ts';
import { downloadError, reasonOf } from './errors.ts';
import { type ActiveGuards, type Guards, redirectTarget, requireAsked } from './guards.ts';

export interface Hop {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** Of the caller: for the origin of `url` alone, whatever their names are. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Uint8Array | undefined;
}

export interface Answer {
  /** After redirects. */
  readonly url: URL;
  /** Its body is unread; whoever does not want it destroys it. */
  readonly message: IncomingMessage;
}

/** What every server gets, unless the caller says otherwise to the first. */
const OWN_HEADERS = { 'user-agent': 'aana-host', accept: '*/*' } as const;
/** Says what the body is, and goes where the body goes. */
const DESCRIBES_BODY = /^content-/i;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Runs `work` under a signal that aborts with the caller's, and when `timeoutMs` are over; whatever goes wrong with the
 * connection is a `DownloadException` that names `url`.
 */
export async function withinTime<G extends Guards, T>(
  url: URL,
  guards: G,
  work: (active: G & ActiveGuards) => Promise<T>,
): Promise<T> {
  guards.signal?.throwIfAborted();
  const deadline = AbortSignal.timeout(guards.timeoutMs);
  const signal = guards.signal ? AbortSignal.any([guards.signal, deadline]) : deadline;
  try {
    return await work({ ...guards, signal });
  } catch (error) {
    guards.signal?.throwIfAborted();
    if (deadline.aborted) throw downloadError(url, `it took longer than ${guards.timeoutMs / 1000} s`, error);
    throw error instanceof AanaError ? error : downloadError(url, reasonOf(error), error);
  }
}

/**
 * Sends the request, and again to where it is redirected; the address is checked each time, and each connection is a
 * new one to an address that was. So neither a name that changes its answer nor a redirect leads to a private one.
 */
export async function follow(first: Hop, options: ActiveGuards): Promise<Answer> {
  let hop = first;
  for (let hops = 0; ; hops++) {
    requireAsked(hop.url, options);
    const message = await send(hop, await connectChecked(hop.url, options), options);
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
 * As browsers do: 303 always becomes GET, 301 and 302 do after POST. Another origin gets none of the caller's headers:
 * a key can stand in one with any name.
 */
function redirected(start: URL, { method, url: from, headers, body }: Hop, status: number, location: string): Hop {
  const url = redirectTarget(start, from, location);
  url.username = '';
  url.password = '';
  const isSameOrigin = url.origin === from.origin;
  const becomesGet = method === 'POST' && status <= 303;
  const kept = headers.filter(([name]) =>
    DESCRIBES_BODY.test(name) ? body !== undefined && !becomesGet : isSameOrigin,
  );
  return becomesGet ? { method: 'GET', url, headers: kept } : { method, url, headers: kept, body };
}

/**
 * One request over the connection, which is for it alone; the body of the answer comes as it was sent, nothing
 * unpacked.
 */
export function send(
  { method, url, headers, body }: Hop,
  { stream, throughProxy }: Connection,
  { signal, idleTimeoutMs }: Pick<ActiveGuards, 'signal' | 'idleTimeoutMs'>,
): Promise<IncomingMessage> {
  const fields: OutgoingHttpHeaders = { ...OWN_HEADERS };
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    const known = Object.hasOwn(OWN_HEADERS, key) ? undefined : fields[key];
    fields[key] = known === undefined ? value : [known, value].flat().map(String);
  }
  Object.assign(fields, {
    host: url.host,
    'accept-encoding': 'identity',
    connection: 'close',
    ...(body && { 'content-length': body.length }),
    ...throughProxy?.headers,
  });
  const path = `${url.pathname}${url.search}`;
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({
      method,
      path: throughProxy ? `http://${url.host}${path}` : path,
      headers: fields,
      createConnection: () => stream,
      signal,
    });
    outgoing.setTimeout(idleTimeoutMs);
    let response: IncomingMessage | undefined;
    outgoing.on('timeout', () =>
      (response ?? outgoing).destroy(new Error(`the server sent nothing for ${idleTimeoutMs / 1000} s`)),
    );
    outgoing.on('response', (message) => {
      response = message;
      resolve(message);
    });
    outgoing.on('upgrade', (_, socket) => {
      socket.destroy();
      reject(new Error('its answer is not HTTP: it wants another protocol'));
    });
    outgoing.on('error', reject);
    outgoing.on('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' }))); // not each end is told as an error
    outgoing.end(body);
  });
}
