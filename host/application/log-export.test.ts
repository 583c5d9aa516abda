// Log lines of real requests, sent to a real collector.
import { rmSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { createLogger, type Logger, silentLogger } from '../base/core/log/logger.ts';
import type { AanaApp } from 'aana-host';
import { attributesOf, Collector, type OtlpLog } from '../base/telemetry/fixtures/collector.ts';
import { until } from '../test/helpers/server.ts';
import { makeApp, makeFolder, started } from './fixtures/test-app.ts';

const Export = suite('the export of log lines');
const folder = makeFolder();
Export.after(() => rmSync(folder, { recursive: true, force: true }));

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const SECRET = 'the patient has a secret';

/** Starts an application with an endpoint that fails. */
function failingApp(env: Readonly<Record<string, string>>, log: Logger = silentLogger): Promise<AanaApp> {
  const app = makeApp(folder, { log }, {}, { OTEL_BLRP_SCHEDULE_DELAY: '10', OTEL_BSP_SCHEDULE_DELAY: '10', ...env });
  const schemas = { input: z.strictObject({}), output: z.unknown() };
  app.registerEndpoint({
    name: 'fail',
    path: '/fail',
    summary: 'Fail',
    ...schemas,
    run: async () => {
      throw new Error(SECRET);
    },
  });
  return started(app);
}

async function fail(app: AanaApp, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  const answer = await fetch(`${app.url}/fail`, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json', ...headers },
  });
  assert.is(answer.status, 500);
  await answer.text();
}

const saying = (collector: Collector, message: string): OtlpLog[] =>
  collector.logs.filter(({ body }) => body.stringValue === message);

Export('has the same lines in both forms of OTLP, at the places of their requests in the trace', async () => {
  for (const protocol of ['http/protobuf', 'http/json']) {
    await using collector = await Collector.start();
    await using app = await failingApp({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_LOGS_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=for-all',
      OTEL_EXPORTER_OTLP_LOGS_HEADERS: 'api-key=a%20key',
      OTEL_SERVICE_NAME: 'failing',
    });
    await fail(app, { traceparent: `00-${TRACE}-${CALLER}-01`, 'x-request-id': 'r-1' });
    await until(async () => saying(collector, 'request').length > 0);
    const { path, headers, resource } = collector.logExports[0]!;
    assert.equal([path, headers['api-key'], headers['content-encoding']], ['/v1/logs', 'a key', 'gzip']);
    assert.equal([resource['service.name'], resource['process.pid']], ['failing', process.pid]);
    const server = await collector.spanNamed('POST /fail');
    assert.is(collector.exports[0]?.headers['content-type'], 'application/x-protobuf', 'only of log lines');
    const [request] = saying(collector, 'request');
    assert.equal(
      [request?.severityNumber, request?.severityText, request?.traceId, request?.spanId],
      [9, 'INFO', TRACE, server.spanId],
    );
    const { ms, ...attributes } = attributesOf(request!.attributes);
    assert.type(ms, 'number');
    assert.equal(attributes, { area: 'http', requestId: 'r-1', method: 'POST', path: '/fail', status: 500 });
    assert.ok(Math.abs(Number(BigInt(request!.timeUnixNano) / 1_000_000n) - Date.now()) < 60_000);
    const [failed] = saying(collector, 'request failed');
    assert.equal([failed?.severityNumber, failed?.traceId, failed?.spanId], [17, TRACE, server.spanId]);
    assert.not.match(JSON.stringify(collector.logs), SECRET, 'texts of requests are left out as everywhere');
    const [start] = collector.logs;
    assert.equal([start?.traceId, start?.spanId], [undefined, undefined], 'a line of no request');
  }
});

Export('follows the levels of the log, and sends nothing where it is turned off', async () => {
  await using collector = await Collector.start();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  for (const off of [
    { OTEL_LOGS_EXPORTER: 'none' },
    { OTEL_LOGS_EXPORTER: 'console' },
    { OTEL_SDK_DISABLED: 'true' },
  ]) {
    await using app = await failingApp({ ...env, ...off });
    await fail(app);
  }
  assert.is(collector.logRequests, 0);
  const before = collector.metricRequests;
  await using app = await failingApp({
    ...env,
    OTEL_TRACES_EXPORTER: 'none',
    OTEL_METRICS_EXPORTER: 'none',
    AANA_LOG_LEVEL: 'error',
  });
  const spans = collector.requests;
  await fail(app);
  await app.shutdown();
  assert.equal(
    collector.logs.map(({ body }) => body.stringValue),
    ['request failed'],
    'also the last lines',
  );
  assert.equal([collector.requests, collector.metricRequests], [spans, before], 'neither spans nor metrics');
});

Export('has, of requests whose traces are not sampled, warnings and errors only', async () => {
  await using collector = await Collector.start();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER: 'parentbased_always_off' };
  const app = await failingApp(env);
  await fail(app);
  await fail(app, { traceparent: `00-${TRACE}-${CALLER}-01` });
  await app.shutdown();
  const sampled = (message: string): boolean[] => saying(collector, message).map(({ traceId }) => traceId === TRACE);
  assert.equal([sampled('request'), sampled('request failed')], [[true], [false, true]]);
  assert.not.ok(saying(collector, 'request failed')[0]?.spanId, 'a span that the collector does not get');
});

Export(
  'loses and counts lines where the collector hangs, and tells nobody but the other readers of the log',
  async () => {
    await using collector = await Collector.start();
    collector.answerLogs = () => 'hang';
    const lines: string[] = [];
    const log = createLogger({ level: 'warn', format: 'json', write: (line) => void lines.push(line) });
    const app = await failingApp(
      {
        OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: `${collector.url}/v1/logs`,
        OTEL_BLRP_MAX_QUEUE_SIZE: '10',
        OTEL_BLRP_MAX_EXPORT_BATCH_SIZE: '5',
      },
      log,
    );
    for (let n = 0; n < 30; n += 1) await fail(app);
    const metrics = await (await fetch(`${app.url}/metrics`)).text();
    const [, full] = /^otel_sdk_processor_log_processed_total\{error_type="queue_full"\} (\d+)$/m.exec(metrics) ?? [];
    assert.ok(Number(full) >= 40, `${full}`);
    await app.shutdown();
    assert.is(collector.logRequests, 1, 'one request at a time');
    const told = lines
      .map((line) => JSON.parse(line) as { message: string; records: number; reason: string; area: string })
      .filter(({ message }) => message === 'log records dropped');
    assert.equal([told.length, told[0]?.records, told[0]?.area], [2, 1, 'telemetry'], 'when it begins, and at the end');
    assert.ok(told[1]!.records > 40, `${told[1]?.records}`);
  },
);

Export('does not export the lines about its own failures', async () => {
  await using collector = await Collector.start();
  collector.answerLogs = (before) => (before < 2 ? 400 : 200);
  await using app = await failingApp({ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: `${collector.url}/v1/logs` });
  await until(async () => {
    await fail(app);
    return saying(collector, 'request').length > 0;
  });
  const metrics = await (await fetch(`${app.url}/metrics`)).text();
  assert.match(metrics, /^otel_sdk_exporter_log_exported_total\{error_type="CollectorRefused"\} \d/m);
  assert.equal(saying(collector, 'log records dropped'), []);
});

Export.run();
