// The trace of a streamed summary from the client through plugin, replicas and engine, and that of a deferred one with
// its webhook, as a collector receives them from a real server with real models.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { attributesOf, Collector, type OtlpSpan } from '../../base/telemetry/fixtures/collector.ts';
import { Receiver } from '../../data/webhooks/fixtures/receiver.ts';
import { speakingVideo } from '../helpers/media/media.ts';
import { type RunningServer, serve, until } from '../helpers/server.ts';

const Traces = suite('the trace of a request');

let collector: Collector;
let receiver: Receiver;
let server: RunningServer;

Traces.before(async () => {
  collector = await Collector.start();
  receiver = await Receiver.start();
  server = await serve({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '50',
      WEBHOOK__ALLOW_PRIVATE_URLS: 'true',
    },
  });
});

Traces.after(async () => {
  await server?.stop();
  await receiver?.close();
  await collector?.[Symbol.asyncDispose]();
});

const TRACE = 'c0ffee00c0ffee00c0ffee00c0ffee00';
const CALLER = '00f067aa0ba902b7';

async function summarize(query: string): Promise<string> {
  const form = new FormData();
  form.set('body', JSON.stringify({ video: { content: 'video' } }));
  form.set('video', new Blob([new Uint8Array(await speakingVideo())]), 'speech.mp4');
  const headers = { traceparent: `00-${TRACE}-${CALLER}-01` };
  const response = await fetch(`${server.url}/video/summarize_stream${query}`, { method: 'POST', body: form, headers });
  assert.is(response.status, 200);
  return response.text();
}

const MODEL_CALL = {
  'chat llm_deployment': {
    'aana.deployment.call chat_stream': {},
    'aana.engine.queue': {},
    'aana.engine.prefill': {},
    'aana.engine.decode': {},
  },
};
const INVOCATION = {
  'aana.plugin.invocation': {
    'aana.plugin.call media.open': {},
    'aana.plugin.call media.extract-audio': { 'aana.media.decode': {} },
    'aana.plugin.call deployments.call': { 'aana.deployment.call transcribe': {} },
    'aana.plugin.call deployments.open': {},
    ...MODEL_CALL,
    'aana.plugin.call output.forward': {},
  },
};

const startOf = (span: OtlpSpan): bigint => BigInt(span.startTimeUnixNano);
const endOf = (span: OtlpSpan): bigint => BigInt(span.endTimeUnixNano);

Traces('reaches from the client to the engine', async () => {
  await summarize('');
  const root = await collector.spanNamed('POST /video/summarize_stream');
  assert.equal([root.traceId, root.parentSpanId], [TRACE, CALLER]);
  assert.equal(collector.tree(root.spanId), INVOCATION);
  const spans = collector.spans.filter(({ traceId }) => traceId === TRACE);
  for (const span of spans) {
    assert.ok(startOf(span) <= endOf(span), span.name);
    assert.is(span.status.code ?? 0, 0, span.name);
    const parent = spans.find(({ spanId }) => spanId === span.parentSpanId);
    if (parent) assert.ok(endOf(span) <= endOf(parent) + 2000n, `${span.name} ends after ${parent.name}`);
  }
  const generation = await collector.spanNamed('chat llm_deployment');
  const {
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.output_tokens': output,
    ...facts
  } = attributesOf(generation.attributes);
  assert.ok(Number(input) > 20 && Number(output) > 1, `${String(input)}, ${String(output)}`);
  assert.match(String(facts['gen_ai.response.finish_reasons']), /^(stop|length)$/);
  assert.is(facts['gen_ai.operation.name'], 'chat');
  const phases = ['queue', 'prefill', 'decode'].map((name) =>
    spans.find((span) => span.name === `aana.engine.${name}`)!,
  );
  assert.ok(endOf(phases[0]!) <= startOf(phases[1]!) + 1000n && endOf(phases[1]!) <= startOf(phases[2]!) + 1000n);
  assert.not.match(JSON.stringify(spans), /americans|country/i, 'the words of the speaker');
});

Traces('of a deferred request has its task and its webhook', async () => {
  const hook = await fetch(`${server.url}/webhooks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url: receiver.url, events: ['task.completed'] }),
  });
  assert.is(hook.status, 201, await hook.text());
  const { task_id: task } = JSON.parse(await summarize('?defer=true')) as { task_id: string };
  await receiver.until(1);
  const delivery = await collector.spanNamed('aana.webhook.attempt');
  // Its result is stored.
  await until(async () => collector.spans.some(({ parentSpanId }) => parentSpanId === delivery.spanId));
  const root = collector.spans.findLast(({ name }) => name === 'POST /video/summarize_stream')!;
  assert.equal(collector.tree(root.spanId), {
    'write sqlite': {},
    'aana.task.attempt': { ...INVOCATION, 'write sqlite': {} },
    'aana.webhook.attempt': { 'write sqlite': {} },
  });
  const attempt = await collector.spanNamed('aana.task.attempt');
  assert.is(attempt.kind, 5);
  assert.is(attributesOf(attempt.attributes)['aana.task.id'], task);
  assert.is(receiver.received[0]?.headers['traceparent'], `00-${TRACE}-${delivery.spanId}-01`);
});

Traces.run();
