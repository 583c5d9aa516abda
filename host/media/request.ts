import { type IncomingMessage, type OutgoingHttpHeaders, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { AanaError } from '../core/errors.ts';
import { downloadError, withoutCredentials } from './errors.ts';
import { type FetchOptions, parseUrl, pinnedLookup, REDIRECTS, reasonOf, redirectTarget, resolveChecked } from './fetch.ts';

/** A request of a plugin. */
export interface GuardedRequest {
  readonly method: 'get' | 'post';
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Uint8Array | undefined;
}

export interface GuardedResponse {
  readonly status: number;
  /** After redirects. */
  readonly url: string;
  /** Names in lower case; a name may come again. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
}

export interface RequestOptions extends FetchOptions {
  /** Why a URL may not be asked; asked for each, redirects included. */
  refusalOf(url: URL): string | undefined;
}

/** What belongs to the connection, or would reach around the guards. */
const FORBIDDEN = /^(host|connection|content-length|transfer-encoding|accept-encoding|expect|keep-alive|te|trailer|upgrade|proxy-.*)$/;
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
/** Not sent to another origin than the one they were meant for. */
const SECRET = /^(authorization|cookie)$/;
const MAX_REQUEST_BYTES = 8 * 1024 * 1024;

interface Hop {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array | undefined;
}

/**
 * Sends a request and reads its whole answer, whatever its status, under the same guards as {@link fetchToFile}. Throws `HostDenied`,
 * `PrivateAddressException`, `InvalidRequest`, `ResponseTooLarge`, `DownloadException`, or the signal's reason.
 */
export async function requestGuarded(request: GuardedRequest, options: RequestOptions): Promise<GuardedResponse> {
  options.signal?.throwIfAborted();
  const deadline = AbortSignal.timeout(options.timeoutMs);
  const signal = options.signal ? AbortSignal.any([options.signal, deadline]) : deadline;
  const first = firstHop(request);
  try {
    return await follow(first, { ...options, signal });
  } catch (error) {
    options.signal?.throwIfAborted();
    if (deadline.aborted) throw downloadError(first.url, `it took longer than ${options.timeoutMs / 1000} s`, error);
    throw error instanceof AanaError ? error : downloadError(first.url, reasonOf(error), error);
  }
}

function firstHop({ method, url: address, headers, body }: GuardedRequest): Hop {
  const url = parseUrl(address);
  if (url.username !== '' || url.password !== '') throw invalidRequest('the URL has a user name or password; send an authorization header');
  for (const [name, value] of headers) {
    if (!TOKEN.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(value)) throw invalidRequest(`the header ${JSON.stringify(name)} has characters that no header can have`);
    if (FORBIDDEN.test(name.toLowerCase())) throw invalidRequest(`the header ${name} cannot be set`);
  }
  if (method === 'get' && body !== undefined) throw invalidRequest('a GET request has no body');
  if (body && body.length > MAX_REQUEST_BYTES) throw invalidRequest(`the body has more than ${MAX_REQUEST_BYTES} bytes`);
  return { method: method === 'get' ? 'GET' : 'POST', url, headers, body };
}

async function follow(first: Hop, options: RequestOptions & { signal: AbortSignal }): Promise<GuardedResponse> {
  let hop = first;
  for (let hops = 0; ; hops++) {
    const refusal = options.refusalOf(hop.url);
    if (refusal !== undefined) throw new AanaError('HostDenied', 'denied', `${withoutCredentials(hop.url)} cannot be asked: ${refusal}`, { data: { host: hop.url.host } });
    const message = await send(hop, await resolveChecked(hop.url, options), options);
    const status = message.statusCode ?? 0;
    const location = message.headers.location;
    if (!REDIRECTS.has(status) || location === undefined) return { status, url: hop.url.href, headers: headersOf(message), body: await read(hop.url, message, options) };
    message.destroy();
    if (hops >= options.maxRedirects) throw downloadError(first.url, `it redirects more than ${options.maxRedirects} times`);
    hop = redirected(first.url, hop, status, location);
  }
}

/** As browsers do: 303 always becomes GET, 301 and 302 do after POST. */
function redirected(start: URL, { method, url: from, headers, body }: Hop, status: number, location: string): Hop {
  const url = redirectTarget(start, from, location);
  url.username = '';
  url.password = '';
  const isSameOrigin = url.origin === from.origin;
  const becomesGet = method === 'POST' && status <= 303;
  const kept = headers.filter(([name]) => (isSameOrigin || !SECRET.test(name.toLowerCase())) && !(becomesGet && /^content-/i.test(name)));
  return becomesGet ? { method: 'GET', url, headers: kept, body: undefined } : { method, url, headers: kept, body };
}

function send({ method, url, headers, body }: Hop, addresses: readonly string[], { signal, idleTimeoutMs }: RequestOptions & { signal: AbortSignal }): Promise<IncomingMessage> {
  const fields: OutgoingHttpHeaders = { 'user-agent': 'aana-host' };
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    const known = key === 'user-agent' ? undefined : fields[key];
    fields[key] = known === undefined ? value : [known, value].flat().map(String);
  }
  Object.assign(fields, { host: url.host, 'accept-encoding': 'identity', connection: 'close', ...(body && { 'content-length': body.length }) });
  return new Promise((resolve, reject) => {
    const outgoing = (url.protocol === 'https:' ? httpsRequest : httpRequest)({
      method,
      protocol: url.protocol,
      hostname: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port,
      path: `${url.pathname}${url.search}`,
      headers: fields,
      agent: false, // a connection of its own: none that somebody else opened
      lookup: pinnedLookup(addresses),
      timeout: idleTimeoutMs,
      signal,
    });
    let response: IncomingMessage | undefined;
    outgoing.on('timeout', () => (response ?? outgoing).destroy(new Error(`the server sent nothing for ${idleTimeoutMs / 1000} s`)));
    outgoing.on('response', (message) => {
      response = message;
      resolve(message);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

async function read(url: URL, message: IncomingMessage, { maxBytes }: RequestOptions): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      message.destroy();
      throw new AanaError('ResponseTooLarge', 'too-large', `the answer of ${withoutCredentials(url)} has more than ${maxBytes} bytes`, { data: { max_bytes: maxBytes } });
    }
    chunks.push(chunk);
  }
  const body = new Uint8Array(bytes); // its own memory: it goes to another thread
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

function headersOf({ rawHeaders }: IncomingMessage): [string, string][] {
  return Array.from({ length: rawHeaders.length / 2 }, (_, n) => [rawHeaders[2 * n]!.toLowerCase(), rawHeaders[2 * n + 1]!]);
}

function invalidRequest(why: string): AanaError {
  return new AanaError('InvalidRequest', 'invalid-input', why);
}
