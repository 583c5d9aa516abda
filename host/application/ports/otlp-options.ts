import { randomUUID } from 'node:crypto';
import type { Config } from '../../config/index.ts';
import { packageVersion } from '../../core/package-root.ts';
import type { Attributes } from '../../core/telemetry.ts';
import type { OtlpOptions } from '../../telemetry/index.ts';

type OtlpConfig = Config['telemetry']['otlp'];

/** Returns the URL to which a signal is exported; undefined if it stays here. */
export function signalUrl(otlp: OtlpConfig, signal: 'traces' | 'metrics'): string | undefined {
  if (otlp.disabled) return undefined;
  const { endpoint } = otlp;
  const whole = signal === 'traces' ? otlp.traces_endpoint : otlp.metrics_endpoint;
  return whole ?? (endpoint === null ? undefined : `${endpoint.replace(/\/+$/, '')}/v1/${signal}`);
}

/** Returns how messages are sent. `headers` are `name=value` texts. */
export function otlpOptions(
  url: string,
  otlp: OtlpConfig,
  resource: Attributes,
  headers: readonly string[],
): OtlpOptions {
  const { protocol, compression, timeout_ms: timeoutMs } = otlp;
  return {
    url,
    protocol,
    headers: fromPairs(headers),
    compression,
    timeoutMs,
    resource,
    version: packageVersion(),
  };
}

/** One process is one instance, whichever signals it exports. */
const INSTANCE = randomUUID();

/** Returns the attributes that describe this process. `name` is the name of the application. */
export function resourceOf(
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
