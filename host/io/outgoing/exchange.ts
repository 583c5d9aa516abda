import {
  type Agent,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as httpRequest,
  type RequestOptions,
} from 'node:http';
import { signalWithin } from '../../base/core/abort.ts';
import { AanaError } from '../../base/core/errors.ts';
import type { Connection } from './connect.ts';
import { downloadError, reasonOf } from './errors.ts';
import type { ActiveGuards, UntimedGuards } from './guards.ts';

export interface Hop {
  /** In upper case. */
  readonly method: string;
  readonly url: URL;
  /** Headers of the caller, which are sent only to the origin of `url`. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Uint8Array | undefined;
}

export interface Answer {
  /** URL after redirects. */
  readonly url: URL;
  /** Message with an unread body. Destroy it if the body is not needed. */
  readonly message: IncomingMessage;
}

/** Default headers. The caller can replace them for the first server. */
const OWN_HEADERS = { 'user-agent': 'aana-host', accept: '*/*' } as const;

/** Most answers with a status below 200 before the real one. They cost time, and end the silence that has a limit. */
const MAX_INTERIM = 32;

/**
 * Runs `work` with a signal that aborts with the caller's signal and after `timeoutMs`, if there is one. Failures of
 * the connection become a `DownloadException` that names `url`.
 */
export async function withinTime<G extends UntimedGuards & { readonly timeoutMs?: number | undefined }, T>(
  url: URL,
  guards: G,
  work: (active: G & ActiveGuards) => Promise<T>,
): Promise<T> {
  guards.signal?.throwIfAborted();
  const { timeoutMs } = guards;
  const signal =
    timeoutMs === undefined ? (guards.signal ?? new AbortController().signal) : signalWithin(timeoutMs, guards.signal);
  try {
    return await work({ ...guards, signal });
  } catch (error) {
    guards.signal?.throwIfAborted();
    if (signal.aborted) throw downloadError(url, `it took longer than ${timeoutMs! / 1000} s`, error);
    throw error instanceof AanaError ? error : downloadError(url, reasonOf(error), error);
  }
}

type Timing = Pick<ActiveGuards, 'signal' | 'idleTimeoutMs'>;

/** An agent of {@link KeptConnections}, and the proxy of a connection if it needs the whole URL. */
export interface KeptWay extends Pick<Connection, 'throughProxy'> {
  readonly agent: Agent;
}

/** What the agent gets to know of a request that needs a connection. Node keeps the signal of a request from it. */
export interface Connecting extends RequestOptions {
  readonly within: AbortSignal;
}

/** A kept connection has ended without an answer, most likely because the server had closed it. */
export class StaleConnection extends Error {
  override readonly name = 'StaleConnection';
}

/**
 * Sends one request, over a connection that is used only for it, or over one that an agent keeps. The body of the
 * answer is not decompressed. Throws {@link StaleConnection} for a kept connection.
 */
export function send(
  { method, url, headers, body }: Hop,
  way: Connection | KeptWay,
  { signal, idleTimeoutMs }: Timing,
): Promise<IncomingMessage> {
  const { throughProxy } = way;
  const fields: OutgoingHttpHeaders = {
    ...OWN_HEADERS,
    ...valuesByName(headers),
    host: url.host,
    'accept-encoding': 'identity',
    ...('stream' in way && { connection: 'close' }),
    ...(body && { 'content-length': body.length }),
    ...throughProxy?.headers,
  };
  const path = `${url.pathname}${url.search}`;
  const request: Connecting = {
    method,
    path: throughProxy ? `http://${url.host}${path}` : path,
    headers: fields,
    signal,
    within: signal,
    ...('stream' in way ? { createConnection: () => way.stream } : { agent: way.agent }),
  };
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(request);
    outgoing.setTimeout(idleTimeoutMs);
    let response: IncomingMessage | undefined;
    outgoing.on('timeout', () =>
      (response ?? outgoing).destroy(new Error(`the server sent nothing for ${idleTimeoutMs / 1000} s`)),
    );
    outgoing.on('response', (message) => {
      response = message;
      resolve(message);
    });
    let interim = 0;
    outgoing.on('information', () => {
      if (++interim > MAX_INTERIM) outgoing.destroy(new Error(`it sends more than ${MAX_INTERIM} interim answers`));
    });
    outgoing.on('upgrade', (_, socket) => {
      socket.destroy();
      reject(new Error('its answer is not HTTP: it asks for another protocol'));
    });
    const onError = (error: NodeJS.ErrnoException): void => {
      const isClosed = error.code === 'ECONNRESET' || error.code === 'EPIPE';
      reject(outgoing.reusedSocket && isClosed ? new StaleConnection(error.message, { cause: error }) : error);
    };
    outgoing.on('error', onError);
    // Not every end is reported as an error.
    outgoing.on('close', () => onError(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
    outgoing.end(body);
  });
}

/** Returns all values of each header. A plugin chooses names and number, so names of all objects are headers, too. */
function valuesByName(headers: Hop['headers']): Record<string, string[]> {
  const values = new Map<string, string[]>();
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    const known = values.get(key);
    // Node sends a list as several headers, and one value is enough for those of the host.
    if (known && !Object.hasOwn(OWN_HEADERS, key)) known.push(value);
    else values.set(key, [value]);
  }
  return Object.fromEntries(values);
}
