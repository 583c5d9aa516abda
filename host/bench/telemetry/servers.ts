import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A configuration of telemetry whose cost is measured. */
export interface Configuration {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  /** Whether its metrics are read once a second. */
  readonly isScraped?: true;
}

const UNTRACED = { AANA_TRACES_KEPT: '0' };
const OFF = { ...UNTRACED, AANA_METRICS: 'false' };
const ONE_OF_A_HUNDRED = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' };

/**
 * Starts the collectors and returns all configurations. The first one is the base of all others. The second one is the
 * same, so its ratio shows what the benchmark can resolve.
 */
export async function configurations(): Promise<Configuration[]> {
  const [answering, hanging] = await Promise.all([collector(true), collector(false)]);
  return [
    { name: 'off', env: OFF },
    { name: 'off again', env: OFF },
    { name: 'metrics', env: UNTRACED },
    { name: 'metrics, scraped', env: UNTRACED, isScraped: true },
    { name: 'metrics, kept traces', env: {} },
    { name: 'one of a hundred', env: { ...ONE_OF_A_HUNDRED, ...answering } },
    { name: 'one of a hundred, hanging collector', env: { ...ONE_OF_A_HUNDRED, ...hanging } },
    { name: 'all, hanging collector', env: hanging },
  ];
}

/** Starts a collector. Returns the environment of a server that exports to it. */
async function collector(answers: boolean): Promise<Configuration['env']> {
  const server = createServer((request, response) => {
    if (answers) request.resume().on('end', () => response.end());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  server.unref();
  return { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
