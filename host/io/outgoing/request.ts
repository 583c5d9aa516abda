import type { IncomingMessage } from 'node:http';
import { type AanaError, fail } from '../../base/core/errors.ts';
import { AnswerBody, decoded, decoderOf } from './answer-body.ts';
import { type Hop, withinTime } from './exchange.ts';
import { type Guards, parseUrl, type UntimedGuards } from './guards.ts';
import { follow } from './redirects.ts';

export interface GuardedRequest {
  /** GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, or another one that is a token, except CONNECT, TRACE and TRACK. */
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Uint8Array | undefined;
}

export interface GuardedHead {
  readonly status: number;
  readonly statusText: string;
  /** URL after redirects. */
  readonly url: string;
  /** Whether a redirect was followed. */
  readonly redirected: boolean;
  /** Headers with names in lower case. A name may appear several times. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export interface GuardedResponse extends GuardedHead {
  readonly body: Uint8Array;
}

export interface GuardedExchange {
  readonly head: GuardedHead;
  readonly body: AnswerBody;
}

export interface RequestOptions extends Guards {
  /** Largest body of an answer, in bytes. */
  readonly maxBytes: number;
}

/** Headers that belong to the connection, or could bypass the guards. */
const FORBIDDEN =
  /^(host|connection|content-length|transfer-encoding|accept-encoding|expect|keep-alive|te|trailer|upgrade|proxy-.*)$/;
/** They would make a tunnel, or return headers that the host has added. */
const FORBIDDEN_METHOD = /^(connect|trace|track)$/i;
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const MAX_REQUEST_BYTES = 8 * 1024 * 1024;
/** Servers take less. */
const MAX_HEADER_CHARS = 64 * 1024;

/**
 * Sends a request of a plugin or webhook and returns the whole answer, with any status. All addresses of a host name
 * are checked, and the connection goes to a checked one, also after each redirect. Throws `HostDenied`,
 * `PrivateAddressException`, `InvalidRequest`, `ResponseTooLarge`, `DownloadException`, or the signal's reason.
 */
export async function requestGuarded(request: GuardedRequest, options: RequestOptions): Promise<GuardedResponse> {
  const first = firstHop(request);
  return withinTime(first.url, options, async (active) => {
    const { url, message } = await follow(first, active);
    return { ...headOf(first, url, message), body: await new AnswerBody(url, message, active).rest() };
  });
}

/**
 * Does the same, but decodes compressed bodies, and returns when the head of the answer has arrived. The signal ends
 * the exchange also later. The connection is open until the body was read to its end or closed.
 */
export async function openGuarded(
  request: GuardedRequest,
  options: UntimedGuards & Pick<RequestOptions, 'maxBytes'>,
): Promise<GuardedExchange> {
  const first = firstHop(request);
  return withinTime(first.url, options, async (active) => {
    const { url, message } = await follow(first, active);
    const head = headOf(first, url, message);
    const headers = decoderOf(message) ? head.headers.filter(([name]) => !OF_CODED_BODY.has(name)) : head.headers;
    return { head: { ...head, headers }, body: new AnswerBody(url, message, active, decoded(message)) };
  });
}

function firstHop({ method, url: address, headers, body }: GuardedRequest): Hop {
  const url = parseUrl(address);
  if (url.username !== '' || url.password !== '')
    throw invalidRequest('the URL has a user name or password; send an authorization header');
  if (headers.reduce((chars, [name, value]) => chars + name.length + value.length + 4, 0) > MAX_HEADER_CHARS)
    throw invalidRequest(`the headers have more than ${MAX_HEADER_CHARS} characters`);
  for (const [name, value] of headers) {
    if (!TOKEN.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(value))
      throw invalidRequest(`the header ${JSON.stringify(name)} has characters that no header can have`);
    if (FORBIDDEN.test(name.toLowerCase())) throw invalidRequest(`the header ${name} cannot be set`);
  }
  if (!TOKEN.test(method) || FORBIDDEN_METHOD.test(method))
    throw invalidRequest(`the method ${JSON.stringify(method.slice(0, 64))} cannot be used`);
  if (/^(get|head)$/i.test(method) && body !== undefined) throw invalidRequest(`a ${method} request has no body`);
  if (body && body.length > MAX_REQUEST_BYTES)
    throw invalidRequest(`the body has more than ${MAX_REQUEST_BYTES} bytes`);
  return { method: method.toUpperCase(), url, headers, body };
}

const headOf = (first: Hop, url: URL, message: IncomingMessage): GuardedHead => ({
  status: message.statusCode ?? 0,
  statusText: message.statusMessage ?? '',
  url: url.href,
  redirected: url !== first.url,
  headers: headersOf(message),
});

/** Headers that do not fit a body any more when it was decoded. */
const OF_CODED_BODY: ReadonlySet<string> = new Set(['content-encoding', 'content-length']);

function headersOf({ rawHeaders }: IncomingMessage): [string, string][] {
  return Array.from({ length: rawHeaders.length / 2 }, (_, n) => [
    rawHeaders[2 * n]!.toLowerCase(),
    rawHeaders[2 * n + 1]!,
  ]);
}

function invalidRequest(why: string): AanaError {
  return fail('InvalidRequest', why);
}
