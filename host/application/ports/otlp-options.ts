import { randomUUID } from 'node:crypto';
import type { Config } from '../../config/index.ts';
import { packageVersion } from '../../core/package-root.ts';
import type { Attributes } from '../../core/telemetry.ts';
import type { OtlpOptions } from '../../telemetry/index.ts';

/** A kind of facts that is exported on its own. */
export type Signal = 'traces' | 'metrics' | 'logs';

/**
 * Returns how a signal of the application `name` is exported; undefined if it stays here. A key of the signal takes
 * precedence over the key of all signals.
 */
export function otlpOptions(
  { otlp, ...process }: Config['telemetry'],
  signal: Signal,
  name: string,
): OtlpOptions | undefined {
  const isExported = (otlp[`${signal}_exporter`] as readonly string[]).includes('otlp');
  const url = otlp[`${signal}_endpoint`] ?? urlBelow(otlp.endpoint, signal);
  if (otlp.disabled || !isExported || url === undefined) return undefined;
  return {
    url,
    protocol: otlp[`${signal}_protocol`] ?? otlp.protocol,
    headers: fromPairs(otlp[`${signal}_headers`] ?? otlp.headers),
    compression: otlp[`${signal}_compression`] ?? otlp.compression,
    timeoutMs: otlp[`${signal}_request_timeout_ms`] ?? otlp.timeout_ms,
    resource: resourceOf(process, name),
    version: packageVersion(),
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
