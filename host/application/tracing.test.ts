// Spans of real requests, sent to a real collector or kept in memory.
import { rmSync } from 'node:fs';
import { request } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { createLogger, silentLogger } from '../base/core/log/logger.ts';
import { EchoTextGeneration } from '../inference/deployments/fixtures/echo-text-generation.ts';
import { SentimentDeployment } from '../inference/deployments/fixtures/sentiment-deployment.ts';
import { type AanaApp, type AanaAppOptions, AanaError } from 'aana-host';
import { attributesOf, Collector, type OtlpSpan } from '../base/telemetry/fixtures/collector.ts';
import { until } from '../test/helpers/server.ts';
import { makeApp, makeFolder, postJson, started } from './fixtures/test-app.ts';

const Tracing = suite('tracing');
const folder = makeFolder();
Tracing.after(() => rmSync(folder, { recursive: true, force: true }));

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const SECRET = 'the patient has a secret';

/** Starts an application that is configured with variables of the environment only, like those of OpenTelemetry. */
function tracedApp(env: Readonly<Record<string, string>>, options: AanaAppOptions = {}): Promise<AanaApp> {
  return started(makeApp(folder, options, {}, { OTEL_BSP_SCHEDULE_DELAY: '10', ...env }));
}

/** Starts an application with an endpoint that streams the words of a deployment, and can fail. */
function wordsApp(env: Readonly<Record<string, string>>): Promise<AanaApp> {
  const app = makeApp(folder, {}, {}, { OTEL_BSP_SCHEDULE_DELAY: '10', ...env });
  app.registerDeployment('sentiment', SentimentDeployment.options({}));
  app.registerEndpoint({
    name: 'words',
    path: '/words',
    summary: 'Words',
    input: z.strictObject({ text: z.string(), fail: z.enum(['before', 'after']).optional() }),
    output: z.unknown(),
    async *run({ text, fail }, context) {
      if (fail === 'before') throw new AanaError('NoWords', 'unavailable', text);
      yield* app.handle(SentimentDeployment, 'sentiment').words({ text }, context);
      if (fail === 'after') throw new Error(text);
    },
  });
  return started(app);
}

const ask = (app: AanaApp, input: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${app.url}/words`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(input),
  });

const from = (flags: string): Record<string, string> => ({ traceparent: `00-${TRACE}-${CALLER}-${flags}` });
const durationMs = ({ startTimeUnixNano, endTimeUnixNano }: OtlpSpan): number =>
  Number(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)) / 1e6;

Tracing('has the same spans in both forms of OTLP, with headers, resource and events', async () => {
  for (const protocol of ['http/protobuf', 'http/json']) {
    await using collector = await Collector.start();
    await using app = await wordsApp({
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20key, x-team = speech',
      OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: protocol === 'http/json' ? 'gzip' : 'none',
      OTEL_SERVICE_NAME: 'words',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=other',
    });
    const answer = await ask(app, { text: SECRET }, { ...from('01'), tracestate: 'vendor=1', 'x-request-id': 'r-1' });
    assert.is(answer.status, 200);
    await answer.text();
    const server = await collector.spanNamed('POST /words');
    assert.is(collector.exports[0]?.path, '/v1/traces');
    assert.is(collector.exports[0]?.headers['api-key'], 'a key');
    assert.is(collector.exports[0]?.headers['x-team'], 'speech');
    const resource = attributesOf(collector.exports[0]!.traces.resourceSpans[0]!.resource.attributes);
    assert.is(resource['service.name'], 'words');
    assert.is(resource['deployment.environment.name'], 'test');
    assert.is(resource['process.pid'], process.pid);
    assert.equal(
      [server.traceId, server.parentSpanId, server.traceState, server.kind, server.status.code ?? 0],
      [TRACE, CALLER, 'vendor=1', 2, 0],
    );
    assert.equal(attributesOf(server.attributes), {
      'http.request.method': 'POST',
      'url.scheme': 'http',
      'http.route': '/words',
      'http.response.status_code': 200,
      'aana.request.id': 'r-1',
    });
    assert.equal(collector.tree(server.spanId), { 'aana.deployment.call words': {} });
    const call = await collector.spanNamed('aana.deployment.call');
    assert.equal(attributesOf(call.attributes), {
      'aana.deployment': 'sentiment',
      'aana.method': 'words',
      'aana.outcome': 'ok',
      'aana.replica': 'sentiment#1',
      'aana.call.values': 5,
    });
    assert.is(call.kind, 3);
    assert.equal(
      call.events.map(({ name }) => name),
      ['begun', 'first value'],
    );
    assert.ok(Math.abs(Number(BigInt(server.startTimeUnixNano) / 1_000_000n) - Date.now()) < 60_000);
    assert.ok(durationMs(call) > 0 && durationMs(call) <= durationMs(server));
    assert.not.match(JSON.stringify(collector.exports), SECRET);
  }
});

Tracing('names the errors of failed requests, and keeps those and slow ones for admins', async () => {
  await using collector = await Collector.start();
  await using app = await wordsApp({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/ingest?team=1`,
    AANA_TRACES_SLOW_S: '0',
  });
  assert.is((await ask(app, { text: SECRET, fail: 'before' }, from('01'))).status, 503);
  const cut = await ask(app, { text: SECRET, fail: 'after' }, from('00'));
  assert.is(cut.status, 200);
  await cut.text();
  assert.is((await ask(app, {}, from('01'))).status, 422);
  await until(async () => collector.spans.filter(({ name }) => name === 'POST /words').length === 2);
  assert.is(collector.exports[0]?.path, '/ingest?team=1');
  assert.equal(
    collector.spans
      .filter(({ name }) => name === 'POST /words')
      .map(({ status, attributes }) => [status.code ?? 0, attributesOf(attributes)['error.type']]),
    [
      [2, 'NoWords'],
      [0, undefined],
    ],
    'the trace that is not sampled stays here, and a refused input is no failure',
  );

  const { traces } = (await (await fetch(`${app.url}/api/traces`)).json()) as {
    traces: { trace_id: string; name: string; error_type: string | null }[];
  };
  assert.equal(
    traces.filter(({ trace_id: id }) => id === TRACE).map(({ name, error_type: error }) => [name, error]),
    [
      ['POST /words', null],
      ['POST /words', 'Error'],
      ['POST /words', 'NoWords'],
    ],
  );
  const found = await (await fetch(`${app.url}/api/traces/${TRACE}`)).text();
  const failed = (
    JSON.parse(found) as {
      traces: { error_type: string; spans: { name: string; events: { name: string }[]; start_ms: number }[] }[];
    }
  ).traces[1]!;
  assert.equal(
    failed.spans.map(({ name, events }) => [name, events.map((event) => event.name)]),
    [
      ['POST /words', []],
      ['aana.deployment.call', ['begun', 'first value']],
    ],
  );
  assert.ok(failed.spans[0]!.start_ms === 0 && failed.spans[1]!.start_ms > 0);
  assert.not.match(found, SECRET);
  const nothing = await fetch(`${app.url}/api/traces/${'0'.repeat(32)}`);
  assert.equal([nothing.status, ((await nothing.json()) as { error: string }).error], [404, 'NotFoundException']);
});

Tracing('samples a part of the traces, and follows the decision of the caller', async () => {
  await using collector = await Collector.start();
  await using app = await tracedApp({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.5',
    AANA_TRACES_KEPT: '0',
  });
  const place = (traceId: string, flags: string): Record<string, string> => ({
    traceparent: `00-${traceId}-${CALLER}-${flags}`,
  });
  for (let n = 0; n < 60; n++) assert.is((await fetch(`${app.url}/livez`)).status, 200);
  await fetch(`${app.url}/livez`, { headers: place('a'.repeat(32), '00') });
  await fetch(`${app.url}/livez`, { headers: place('b'.repeat(32), '01') });
  await until(async () => collector.spans.some(({ traceId }) => traceId === 'b'.repeat(32)));
  assert.not(collector.spans.some(({ traceId }) => traceId === 'a'.repeat(32)));
  const taken = collector.spans.length;
  assert.ok(taken > 5 && taken < 55, `${taken} of 61`);
  assert.is((await fetch(`${app.url}/api/traces`)).status, 404);
});

/** Sends a request with headers that `fetch` refuses. Returns the status of the answer. */
function sendRaw(url: string, headers: Readonly<Record<string, string | string[]>>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    })
      .on('error', reject)
      .end();
  });
}

Tracing('begins a trace of its own where the headers are long, double or garbage', async () => {
  await using collector = await Collector.start();
  await using app = await tracedApp({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  const valid = from('01')['traceparent']!;
  const hostile: Readonly<Record<string, string | string[]>>[] = [
    { traceparent: 'x'.repeat(8192) },
    { traceparent: `${valid}${'0'.repeat(8192)}` },
    { traceparent: [valid, valid] },
    { traceparent: valid.toUpperCase() },
    { traceparent: `00-${'0'.repeat(32)}-${CALLER}-01`, tracestate: 'vendor=1' },
    { tracestate: 'vendor=1' },
  ];
  for (const headers of hostile) assert.is(await sendRaw(`${app.url}/livez`, headers), 200);
  const longState = { traceparent: valid, tracestate: `vendor=${'x'.repeat(8192)}` };
  assert.is(await sendRaw(`${app.url}/livez`, longState), 200);
  assert.is(await sendRaw(`${app.url}/livez`, { traceparent: valid, tracestate: '\u00e4=,,;=1' }), 200);
  await until(async () => collector.spans.length === hostile.length + 2);
  const own = collector.spans.filter(({ parentSpanId }) => !parentSpanId);
  assert.is(own.length, hostile.length);
  assert.ok(own.every(({ traceId }) => /^[0-9a-f]{32}$/.test(traceId) && traceId !== TRACE));
  assert.ok(collector.spans.every(({ traceState }) => !traceState));
});

Tracing('loses spans, and neither requests nor the shutdown, where the collector hangs, fails or is away', async () => {
  await using collector = await Collector.start();
  collector.answer = () => 'hang';
  const lines: string[] = [];
  const log = createLogger({ level: 'warn', format: 'json', write: (line) => void lines.push(line) });
  const app = await tracedApp(
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_MAX_QUEUE_SIZE: '10',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5',
    },
    { log },
  );
  for (let n = 0; n < 40; n++) assert.is((await fetch(`${app.url}/livez`)).status, 200);
  const metrics = await (await fetch(`${app.url}/metrics`)).text();
  const [, full] = /^otel_sdk_processor_span_processed_total\{error_type="queue_full"\} (\d+)$/m.exec(metrics) ?? [];
  assert.ok(Number(full) >= 20, `${full}`);
  await app.shutdown();
  const dropped = lines.map((line) => JSON.parse(line) as { message: string; spans: number; reason: string });
  assert.equal(
    dropped.map(({ message }) => message),
    ['spans dropped', 'spans dropped'],
    'when it begins, and at the end',
  );
  assert.is(dropped[0]?.spans, 1);
  assert.ok(dropped[1]!.spans > 30, lines[1]);

  collector.answer = () => 400;
  await using refused = await tracedApp({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, { log: silentLogger });
  const count = async (): Promise<string> => (await fetch(`${refused.url}/metrics`)).text();
  await until(async () =>
    /otel_sdk_exporter_span_exported_total\{error_type="CollectorRefused"\} \d/.test(await count()),
  );
});

Tracing('sends a batch again when the collector asks for it', async () => {
  await using collector = await Collector.start();
  collector.answer = (before) => (before === 0 ? 503 : 200);
  await using app = await tracedApp({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  await fetch(`${app.url}/livez`);
  await collector.spanNamed('GET /livez');
  assert.ok(collector.requests >= 2);
});

Tracing('has the work with the database for a deferred request and its attempt, without its values', async () => {
  await using collector = await Collector.start();
  await using app = await wordsApp({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  const deferred = await fetch(`${app.url}/words?defer=true`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...from('01') },
    body: JSON.stringify({ text: SECRET }),
  });
  assert.is(deferred.status, 200, await deferred.text());
  const attempt = await collector.spanNamed('aana.task.attempt');
  const server = await collector.spanNamed('POST /words');
  const writesIn = ({ spanId }: OtlpSpan): OtlpSpan[] =>
    collector.spans.filter(({ name, parentSpanId }) => name === 'write sqlite' && parentSpanId === spanId);
  await until(async () => writesIn(server).length > 0 && writesIn(attempt).length > 0);
  const [stored] = writesIn(server);
  assert.equal([stored?.kind, stored?.traceId, stored?.status.code ?? 0], [3, TRACE, 0]);
  const { 'db.query.summary': summary, ...attributes } = attributesOf(stored!.attributes);
  assert.equal(attributes, { 'db.system.name': 'sqlite', 'db.operation.name': 'write' });
  assert.match(String(summary), /^[A-Z]+ \w+(; [A-Z]+ \w+)*$/);
  assert.match(String(summary), 'INSERT tasks');
  const ended = writesIn(attempt).map((span) => attributesOf(span.attributes)['db.query.summary']);
  assert.ok(
    ended.every((text) => String(text).includes('UPDATE tasks')),
    ended.join(', '),
  );
  assert.not.match(JSON.stringify(collector.exports), SECRET);
  assert.not(
    collector.spans.some(({ name, parentSpanId }) => name.endsWith(' sqlite') && !parentSpanId),
    'no polls',
  );
});

Tracing('has the places of replicas, as traces of their own', async () => {
  await using collector = await Collector.start();
  await using app = await wordsApp({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  assert.type(app.url, 'string');
  const placed = await collector.spanNamed('aana.deployment.placement');
  assert.equal([placed.parentSpanId ?? '', placed.status.code ?? 0], ['', 0]);
  assert.equal(attributesOf(placed.attributes), { 'aana.deployment': 'sentiment', 'aana.device': 'CPU' });
});

Tracing('names the deployment that answers, which an alias chose', async () => {
  await using collector = await Collector.start();
  const env = { OTEL_BSP_SCHEDULE_DELAY: '10', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const app = makeApp(folder, {}, { openai: { aliases: { gpt: 'echo' } } }, env);
  await using running = await started(app.registerDeployment('echo', EchoTextGeneration.options()));
  const names = async (body: object): Promise<unknown> => {
    const { length } = collector.spans;
    await (await postJson(`${running.url}/v1/completions`, body)).text();
    const server = (): OtlpSpan | undefined =>
      collector.spans.slice(length).find(({ name }) => name === 'POST /v1/completions');
    await until(async () => server() !== undefined);
    return attributesOf(server()!.attributes)['aana.deployment'];
  };
  assert.is(await names({ model: 'gpt', prompt: 'a b' }), 'echo');
  assert.is(await names({ model: 'gpt', prompt: 'a b', stream: true }), 'echo');
  assert.is(await names({ model: 'none', prompt: 'a b' }), undefined);
});

Tracing('names the rate limit that refused a request', async () => {
  await using collector = await Collector.start();
  const rate_limits = { default: { capacity: 1, interval_seconds: 60 } };
  const app = makeApp(
    folder,
    {},
    { rate_limits },
    { OTEL_BSP_SCHEDULE_DELAY: '10', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  );
  await using running = await started(app);
  for (const status of [200, 429]) assert.is((await fetch(`${running.url}/api/status`)).status, status);
  const spans = () => collector.spans.filter(({ name }) => name === 'GET /api/status');
  await until(async () => spans().length === 2);
  assert.equal(
    spans().map(({ attributes, status }) => [attributesOf(attributes)['aana.rate_limit.policy'], status.code ?? 0]),
    [
      [undefined, 0],
      ['default', 0],
    ],
  );
});

Tracing.run();
