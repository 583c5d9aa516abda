import type { IncomingMessage } from 'node:http';
import { type AanaError, fail } from '../../base/core/errors.ts';
import { withoutCredentials } from './errors.ts';
import { type Hop, withinTime } from './exchange.ts';
import { type Guards, parseUrl } from './guards.ts';
import { follow } from './redirects.ts';

export interface GuardedRequest {
  readonly method: 'get' | 'post';
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Uint8Array | undefined;
}

export interface GuardedResponse {
  readonly status: number;
  /** URL after redirects. */
  readonly url: string;
  /** Headers with names in lower case. A name may appear several times. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
}

export interface RequestOptions extends Guards {
  /** Largest body of an answer, in bytes. */
  readonly maxBytes: number;
}

/** Headers that belong to the connection, or could bypass the guards. */
const FORBIDDEN =
  /^(host|connection|content-length|transfer-encoding|accept-encoding|expect|keep-alive|te|trailer|upgrade|proxy-.*)$/;
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const MAX_REQUEST_BYTES = 8 * 1024 * 1024;

/**
 * Sends a request of a plugin or webhook and returns the whole answer, with any status. All addresses of a host name
 * are checked, and the connection goes to a checked one, also after each redirect. Throws `HostDenied`,
 * `PrivateAddressException`, `InvalidRequest`, `ResponseTooLarge`, `DownloadException`, or the signal's reason.
 */
export async function requestGuarded(request: GuardedRequest, options: RequestOptions): Promise<GuardedResponse> {
  const first = firstHop(request);
  return withinTime(first.url, options, async (active) => {
    const { url, message } = await follow(first, active);
    return {
      status: message.statusCode ?? 0,
      url: url.href,
      headers: headersOf(message),
      body: await read(url, message, options.maxBytes),
    };
  });
}

function firstHop({ method, url: address, headers, body }: GuardedRequest): Hop {
  const url = parseUrl(address);
  if (url.username !== '' || url.password !== '')
    throw invalidRequest('the URL has a user name or password; send an authorization header');
  for (const [name, value] of headers) {
    if (!TOKEN.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(value))
      throw invalidRequest(`the header ${JSON.stringify(name)} has characters that no header can have`);
    if (FORBIDDEN.test(name.toLowerCase())) throw invalidRequest(`the header ${name} cannot be set`);
  }
  if (method === 'get' && body !== undefined) throw invalidRequest('a GET request has no body');
  if (body && body.length > MAX_REQUEST_BYTES)
    throw invalidRequest(`the body has more than ${MAX_REQUEST_BYTES} bytes`);
  return { method: method === 'get' ? 'GET' : 'POST', url, headers, body };
}

async function read(url: URL, message: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      message.destroy();
      throw fail('ResponseTooLarge', `the answer of ${withoutCredentials(url)} has more than ${maxBytes} bytes`, {
        data: { max_bytes: maxBytes },
      });
    }
    chunks.push(chunk);
  }
  const body = new Uint8Array(bytes); // separate memory, because it is transferred to another thread
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

function headersOf({ rawHeaders }: IncomingMessage): [string, string][] {
  return Array.from({ length: rawHeaders.length / 2 }, (_, n) => [
    rawHeaders[2 * n]!.toLowerCase(),
    rawHeaders[2 * n + 1]!,
  ]);
}

function invalidRequest(why: string): AanaError {
  return fail('InvalidRequest', why);
}
