import { randomUUID } from 'node:crypto';
import type { Config } from '../../base/config/index.ts';
import { packageVersion } from '../../base/core/package-root.ts';
import type { Attributes } from '../../base/core/telemetry.ts';
import { signalWithin } from '../../base/core/abort.ts';
import { KeptConnections, type Network, readUpTo, reasonOf } from '../../io/outgoing/index.ts';
import type { OtlpOptions, PostToCollector } from '../../base/telemetry/index.ts';

/** A kind of facts that is exported on its own. */
export type Signal = 'traces' | 'metrics' | 'logs';

export interface ExportSource {
  /** Name of the application. */
  readonly name: string;
  /** Through it the collector is reached. */
  readonly network: Network;
  /** Ends the connection to the collector. */
  readonly until: AbortSignal;
}

/**
 * Returns how a signal of the application `name` is exported; undefined if it stays here. A key of the signal takes
 * precedence over the key of all signals.
 */
export function otlpOptions(
  { otlp, ...process }: Config['telemetry'],
  signal: Signal,
  { name, network, until }: ExportSource,
): OtlpOptions | undefined {
  const isExported = (otlp[`${signal}_exporter`] as readonly string[]).includes('otlp');
  const url = otlp[`${signal}_endpoint`] ?? urlBelow(otlp.endpoint, signal);
  if (otlp.disabled || !isExported || url === undefined) return undefined;
  return {
    post: postTo({
      url: new URL(url),
      network,
      timeoutMs: otlp[`${signal}_request_timeout_ms`] ?? otlp.timeout_ms,
      until,
    }),
    protocol: otlp[`${signal}_protocol`] ?? otlp.protocol,
    headers: fromPairs(otlp[`${signal}_headers`] ?? otlp.headers),
    compression: otlp[`${signal}_compression`] ?? otlp.compression,
    resource: resourceOf(process, name),
    version: packageVersion(),
  };
}

/** An answer says at most how many items were refused, and why. */
const MOST_ANSWER_BYTES = 1024 * 1024;

interface CollectorOptions {
  /** A user name and password in it are sent. */
  readonly url: URL;
  readonly network: Network;
  /** Milliseconds that one request may take, the connection included. */
  readonly timeoutMs: number;
  readonly until: AbortSignal;
}

/** Answers with any status are returned; redirects are not followed. */
function postTo({ url, network, timeoutMs, until }: CollectorOptions): PostToCollector {
  const connections = new KeptConnections({ url, network, idleTimeoutMs: timeoutMs });
  until.addEventListener('abort', () => connections.close(), { once: true });
  const credentials = [url.username, url.password].map(decodeURIComponent).join(':');
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
  return async (headers, body, signal) => {
    try {
      const all = Object.entries(headers);
      if (url.username !== '') all.push(['authorization', authorization]);
      const hop = { method: 'POST', url, headers: all, body };
      const answer = await connections.send(hop, signalWithin(timeoutMs, signal));
      return {
        status: answer.statusCode ?? 0,
        headers: answer.headers,
        body: await readUpTo(MOST_ANSWER_BYTES, answer as AsyncIterable<Buffer>),
      };
    } catch (error) {
      const { name } = error as Error;
      const isLate = name === 'TimeoutError' || name === 'AbortError';
      throw new Error(isLate ? 'it did not answer in time' : reasonOf(error), { cause: error });
    }
  };
}

function urlBelow(endpoint: string | null, signal: Signal): string | undefined {
  return endpoint === null ? undefined : `${endpoint.replace(/\/+$/, '')}/v1/${signal}`;
}

/** One process is one instance, whichever signals it exports. */
const INSTANCE = randomUUID();

/** Returns the attributes that describe this process. `name` is the name of the application. */
function resourceOf(
  {
    service_name: serviceName,
    resource_attributes: given,
  }: Pick<Config['telemetry'], 'service_name' | 'resource_attributes'>,
  name: string,
): Attributes {
  return {
    'service.name': name,
    'service.version': packageVersion(),
    'service.instance.id': INSTANCE,
    'process.pid': process.pid,
    ...fromPairs(given),
    ...(serviceName !== null && { 'service.name': serviceName }),
  };
}

/** Returns `name=value` texts as an object. Values are percent-encoded. */
export function fromPairs(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      return [pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())];
    }),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a percent sign that encodes nothing
  }
}
