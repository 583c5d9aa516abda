// OpenTelemetry's own classes for Python read what a real server sends, and collectors that are away, full or late get
// it later.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { silentLogger } from '../base/core/log/logger.ts';
import { SentimentDeployment } from '../inference/deployments/fixtures/sentiment-deployment.ts';
import type { AanaApp } from 'aana-host';
import {
  attributesOf,
  type OtlpLogs,
  type OtlpMetrics,
  type OtlpTraces,
} from '../base/telemetry/fixtures/collector.ts';
import { PythonReceiver } from '../base/telemetry/fixtures/python-receiver.ts';
import { pythonPackages } from '../test/helpers/installed-packages.ts';
import { freePort, until } from '../test/helpers/server.ts';
import { skip } from '../test/skip.ts';
import { makeApp, makeFolder, started } from './fixtures/test-app.ts';

const Judged = suite('OTLP for OpenTelemetry’s own classes');
const folder = makeFolder();
Judged.after(() => rmSync(folder, { recursive: true, force: true }));

const VERSION = '1.45.2';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const DURATION = 'http.server.request.duration';

/** Ids are base64 in the JSON that Python makes of a message. */
const id = (base64: string | undefined): string => Buffer.from(base64 ?? '', 'base64').toString('hex');

function wordsApp(url: string, env: Readonly<Record<string, string>> = {}): Promise<AanaApp> {
  const app = makeApp(
    folder,
    { log: silentLogger },
    {},
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_BSP_SCHEDULE_DELAY: '10',
      OTEL_BLRP_SCHEDULE_DELAY: '10',
      OTEL_METRIC_EXPORT_INTERVAL: '100',
      ...env,
    },
  );
  app.registerDeployment('sentiment', SentimentDeployment.options({}));
  app.registerEndpoint({
    name: 'words',
    path: '/words',
    summary: 'Words',
    input: z.strictObject({ text: z.string() }),
    output: z.unknown(),
    async *run({ text }, context) {
      yield* app.handle(SentimentDeployment, 'sentiment').words({ text }, context);
    },
  });
  return started(app);
}

async function ask(app: AanaApp): Promise<void> {
  const answer = await fetch(`${app.url}/words`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: `00-${TRACE}-${CALLER}-01` },
    body: JSON.stringify({ text: 'a b c' }),
  });
  assert.is(answer.status, 200);
  await answer.text();
}

const spansOf = (receiver: PythonReceiver) =>
  receiver
    .messages<OtlpTraces>('traces')
    .flatMap(({ resourceSpans }) =>
      resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    );

const logsOf = (receiver: PythonReceiver) =>
  receiver
    .messages<OtlpLogs>('logs')
    .flatMap(({ resourceLogs }) =>
      resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords)),
    );

const pointsOf = (receiver: PythonReceiver, name: string) =>
  receiver
    .messages<OtlpMetrics>('metrics')
    .flatMap(({ resourceMetrics }) => resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics))
    .flatMap(({ metrics }) => metrics.filter((metric) => metric.name === name))
    .flatMap((metric) => metric.histogram?.dataPoints ?? []);

const packages = await pythonPackages(`test-opentelemetry-proto-${VERSION}`, `opentelemetry-proto==${VERSION}`);
if (packages === undefined)
  skip('OTLP for OpenTelemetry’s own classes', 'pip cannot install opentelemetry-proto from PyPI');
else {
  const lib = join(packages, 'lib');

  Judged('are spans, metrics with exemplars and log lines of one trace', async () => {
    await using receiver = await PythonReceiver.start(lib);
    await using app = await wordsApp(receiver.url);
    for (let n = 0; n < 5; n += 1) await ask(app);
    const roots = () => spansOf(receiver).filter(({ name }) => name === 'POST /words');
    const lines = () => logsOf(receiver).filter(({ body }) => body.stringValue === 'request');
    const points = () =>
      pointsOf(receiver, DURATION).filter(
        ({ attributes, count }) => attributesOf(attributes)['http.route'] === '/words' && Number(count) === 5,
      );
    await until(async () => roots().length >= 5 && lines().length >= 5 && points().length > 0);
    await app.shutdown();
    assert.equal(
      receiver.received.filter(({ status, headers }) => status !== 200 || headers['content-encoding'] !== 'gzip'),
      [],
    );
    assert.is(roots().length, 5);
    assert.ok(roots().every(({ traceId, parentSpanId }) => id(traceId) === TRACE && id(parentSpanId) === CALLER));
    const ids = roots().map(({ spanId }) => spanId);
    const calls = spansOf(receiver).filter(({ name }) => name === 'aana.deployment.call');
    assert.equal(calls.map(({ parentSpanId }) => parentSpanId).sort(), ids.toSorted());
    assert.equal(
      lines()
        .map(({ traceId, spanId }) => [id(traceId), spanId])
        .sort(),
      ids.toSorted().map((one) => [TRACE, one]),
    );
    assert.ok(lines().every(({ severityText }) => severityText === 'INFO'));
    const exemplars = pointsOf(receiver, DURATION).flatMap(({ exemplars: of = [] }) => of);
    assert.ok(exemplars.length > 0);
    for (const { traceId, spanId, asDouble, timeUnixNano } of exemplars) {
      assert.equal([id(traceId), ids.includes(spanId)], [TRACE, true]);
      assert.ok(asDouble > 0);
      assert.ok(Math.abs(Number(BigInt(timeUnixNano) / 1_000_000n) - Date.now()) < 60_000);
    }
    const ofCalls = pointsOf(receiver, 'aana.deployment.call.duration').flatMap(({ exemplars: of = [] }) => of);
    assert.ok(ofCalls.length > 0 && ofCalls.every(({ spanId }) => calls.some((call) => call.spanId === spanId)));
    assert.is(new Set(exemplars.map((one) => JSON.stringify(one))).size, exemplars.length, 'each is sent once');
  });

  Judged('arrive later at a collector that is full, and at one that starts after the server', async () => {
    const port = await freePort();
    await using app = await wordsApp(`http://127.0.0.1:${port}`, { OTEL_METRICS_EXPORTER: 'none' });
    await ask(app);
    await using receiver = await PythonReceiver.start(lib, { port, first: [429, 503] });
    const requests = (): number => logsOf(receiver).filter(({ body }) => body.stringValue === 'request').length;
    await until(async () => spansOf(receiver).length >= 2 && requests() >= 1, 30_000);
    assert.equal(
      receiver.received.slice(0, 2).map(({ status }) => status),
      [429, 503],
    );
    assert.ok(receiver.received.every(({ error }) => error === undefined));
    assert.is(spansOf(receiver).filter(({ name }) => name === 'POST /words').length, 1, 'once');
    assert.is(requests(), 1);
  });

  Judged('are dropped and counted when the collector is away for too long', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    await using app = await wordsApp(url, {
      OTEL_BSP_EXPORT_TIMEOUT: '50',
      OTEL_BLRP_EXPORT_TIMEOUT: '50',
      OTEL_METRIC_EXPORT_TIMEOUT: '50',
    });
    await ask(app);
    const lost = async (signal: string): Promise<boolean> =>
      new RegExp(`^otel_sdk_exporter_${signal}_exported_total\\{error_type="CollectorUnavailable"\\} \\d`, 'm').test(
        await (await fetch(`${app.url}/metrics`)).text(),
      );
    await until(async () => (await lost('span')) && (await lost('log')) && (await lost('metric_data_point')));
    await ask(app);
  });
}

Judged.run();
