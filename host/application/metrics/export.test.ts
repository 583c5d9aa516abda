// Metrics of real requests, sent to a real collector.
import { rmSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import type { AanaApp } from 'aana-host';
import {
  attributesOf,
  Collector,
  type MetricsExport,
  type OtlpPoint,
} from '../../base/telemetry/fixtures/collector.ts';
import { until } from '../../test/helpers/server.ts';
import { makeApp, makeFolder, started } from '../fixtures/test-app.ts';

const Export = suite('the export of metrics');
const folder = makeFolder();
Export.after(() => rmSync(folder, { recursive: true, force: true }));

function countedApp(env: Readonly<Record<string, string>>): Promise<AanaApp> {
  const app = makeApp(folder, {}, {}, env);
  const schemas = { input: z.strictObject({}), output: z.unknown() };
  app.registerEndpoint({ name: 'nothing', path: '/nothing', summary: 'Nothing', ...schemas, run: async () => ({}) });
  return started(app);
}

async function ask(app: AanaApp, times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    const answer = await fetch(`${app.url}/nothing`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    });
    assert.is(answer.status, 200);
    await answer.text();
  }
}

const DURATION = 'http.server.request.duration';

/** Returns the requests of `/nothing` in an export. */
function requestsIn({ metrics }: MetricsExport): OtlpPoint | undefined {
  const found = metrics.find(({ name }) => name === DURATION)?.histogram;
  return found?.dataPoints.find(({ attributes }) => attributesOf(attributes)['http.route'] === '/nothing');
}

const numbers = (values: readonly (string | number)[] = []): number[] => values.map(Number);
const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

Export('sends the totals of all instruments in both forms of OTLP', async () => {
  for (const protocol of ['http/protobuf', 'http/json']) {
    await using collector = await Collector.start();
    await using app = await countedApp({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=for-spans',
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'api-key=a%20key',
      OTEL_METRIC_EXPORT_INTERVAL: '20',
      OTEL_BSP_SCHEDULE_DELAY: '10',
      OTEL_SERVICE_NAME: 'counted',
    });
    await ask(app, 3);
    await until(async () => collector.metrics.some((one) => Number(requestsIn(one)?.count) === 3));
    const before = collector.metrics.length;
    await until(async () => collector.metrics.length > before);
    const last = collector.metrics.at(-1)!;
    assert.equal([last.path, last.headers['api-key']], ['/v1/metrics', 'a key']);
    assert.equal([last.resource['service.name'], last.resource['process.pid']], ['counted', process.pid]);
    const durations = last.metrics.find(({ name }) => name === DURATION);
    assert.equal([durations?.unit, durations?.histogram?.aggregationTemporality], ['s', 2]);
    const point = requestsIn(last)!;
    assert.is(Number(point.count), 3, 'totals do not begin again');
    assert.is(sum(numbers(point.bucketCounts)), 3);
    assert.is(point.bucketCounts?.length, (point.explicitBounds?.length ?? 0) + 1);
    assert.ok(point.sum! > 0);
    if (protocol === 'http/json') {
      const examples = collector.metrics.flatMap((one) => requestsIn(one)?.exemplars ?? []);
      assert.ok(examples.length > 0 && examples.length <= 3, `${examples.length} exemplars of three requests`);
      await until(async () => examples.every(({ spanId }) => collector.spans.some((span) => span.spanId === spanId)));
    }
    assert.is(point.startTimeUnixNano, requestsIn(collector.metrics.at(-2)!)?.startTimeUnixNano);
    assert.ok(BigInt(point.startTimeUnixNano) < BigInt(point.timeUnixNano));
    const exported = last.metrics.find(({ name }) => name === 'otel.sdk.exporter.metric_data_point.exported');
    assert.equal([exported?.sum?.aggregationTemporality, exported?.sum?.isMonotonic], [2, true]);
    assert.ok(exported!.sum!.dataPoints[0]!.asDouble! > 0);
    const limit = last.metrics.find(({ name }) => name === 'system.memory.limit');
    assert.ok(limit!.gauge!.dataPoints[0]!.asDouble! > 0);
  }
});

Export('sends what is new since the export before, and again what a collector did not take', async () => {
  await using collector = await Collector.start();
  collector.answerMetrics = (before) => (before < 2 ? 400 : 200);
  await using app = await countedApp({
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${collector.url}/v1/metrics`,
    OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'delta',
    OTEL_METRIC_EXPORT_INTERVAL: '20',
  });
  const counts = (): number[] => collector.metrics.map((one) => Number(requestsIn(one)?.count ?? 0));
  for (const all of [2, 5]) {
    await ask(app, all - sum(counts()));
    await until(async () => sum(counts()) === all);
  }
  const [first, next] = collector.metrics.map(requestsIn).filter((point) => point !== undefined);
  assert.ok(BigInt(next!.startTimeUnixNano) >= BigInt(first!.timeUnixNano), 'the times do not overlap');
  const durations = collector.metrics.flatMap(({ metrics }) => metrics.filter(({ name }) => name === DURATION));
  assert.ok(durations.every(({ histogram }) => histogram?.aggregationTemporality === 1));
  assert.is(collector.requests, 0, 'spans stay here');
});

Export('sends the last totals at the end, and nothing where it is turned off', async () => {
  await using collector = await Collector.start();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  for (const off of [{ OTEL_METRICS_EXPORTER: 'none' }, { OTEL_SDK_DISABLED: 'true' }, {}]) {
    await using app = await countedApp({ ...env, ...off });
    await ask(app, 1);
    assert.is(collector.metricRequests, 0);
    await app.shutdown();
  }
  assert.is(collector.metricRequests, 1);
  assert.is(Number(requestsIn(collector.metrics[0]!)?.count), 1);
});

Export('has one request at a time to a collector that hangs, and does not wait for it', async () => {
  await using collector = await Collector.start();
  collector.answerMetrics = () => 'hang';
  await using app = await countedApp({
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${collector.url}/v1/metrics`,
    OTEL_METRIC_EXPORT_INTERVAL: '10',
  });
  await until(async () => collector.metricRequests === 1);
  await ask(app, 20);
  assert.is(collector.metricRequests, 1);
  await app.shutdown();
});

Export.run();
