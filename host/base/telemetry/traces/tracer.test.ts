import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { KeptTraces } from './kept-traces.ts';
import type { LocalTrace } from './local-trace.ts';
import { samplerOf } from './sampler.ts';
import type { SpanRecord } from './span-record.ts';
import { Tracer } from './tracer.ts';

const Recorded = suite('the spans of a process');

const CALLER = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

interface Setting {
  readonly tracer: Tracer;
  readonly exported: SpanRecord[];
  readonly traces: LocalTrace[];
}

function setting(sampler = samplerOf('parentbased_always_on', 1)): Setting {
  const [exported, traces]: [SpanRecord[], LocalTrace[]] = [[], []];
  const tracer = new Tracer({
    sampler,
    onSpan: (span) => exported.push(span),
    onTrace: (trace) => traces.push(trace),
  });
  return { tracer, exported, traces };
}

Recorded('belong to their request also if their parent has ended, until all of it has ended', () => {
  const { tracer, traces } = setting();
  const root = tracer.span('POST /words', { kind: 'server', parent: CALLER });
  const opening = tracer.span('open', { parent: root.traceparent });
  opening.end();
  const stream = tracer.span('stream', { parent: opening.traceparent });
  root.end();
  const late = tracer.span('late', { parent: stream.traceparent });
  late.end();
  stream.end();
  assert.equal(
    traces.map(({ spans }) => spans.map(({ name }) => name)),
    [['open', 'POST /words', 'late', 'stream']],
  );
  const names = new Map(traces[0]!.spans.map((span) => [span.spanId, span.name]));
  assert.equal(
    traces[0]!.spans.map(({ parentSpanId }) => names.get(parentSpanId ?? '')),
    ['POST /words', undefined, 'stream', 'open'],
  );
  tracer.span('after the end', { parent: stream.traceparent }).end();
  assert.is(traces.length, 2, 'nothing of the ended request is remembered');
});

Recorded('of a request to the server itself are a request of their own in the same trace', () => {
  const { tracer, traces } = setting();
  const outer = tracer.span('POST /outer', { kind: 'server' });
  const inner = tracer.span('POST /inner', { kind: 'server', parent: outer.traceparent });
  inner.end({ error: new TypeError('inner') });
  outer.end();
  assert.equal(
    traces.map(({ root, traceId }) => [root?.name, root?.errorType, traceId === traces[0]?.traceId]),
    [
      ['POST /inner', 'TypeError', true],
      ['POST /outer', undefined, true],
    ],
  );
});

Recorded('are kept up to a number for each request, always with its root', () => {
  const { tracer, traces } = setting();
  const root = tracer.span('root');
  for (let n = 0; n < 1000; n++) tracer.span('call', { parent: root.traceparent }).end();
  root.end();
  assert.is(traces[0]?.spans.length, 257);
  assert.is(traces[0]?.droppedSpans, 744);
  assert.is(traces[0]?.spans.at(-1)?.name, 'root');
});

Recorded('end once, and have the attributes of their beginning and end', () => {
  const { tracer, exported } = setting();
  const span = tracer.span('a', { attributes: { first: 1, both: 1 }, startedAt: 1000 });
  span.end({ attributes: { both: 2 }, endedAt: 3000 });
  span.end({ error: new Error('again') });
  assert.is(exported.length, 1);
  assert.equal(
    [exported[0]!.attributes, exported[0]!.startedAt, exported[0]!.endedAt, exported[0]!.errorType],
    [{ first: 1, both: 2 }, 1000, 3000, undefined],
  );
});

Recorded('follow the sampler with all spans of a trace', () => {
  const unsampled = CALLER.replace(/01$/, '00');
  const cases: [name: Parameters<typeof samplerOf>[0], ratio: number, parent: string | undefined, taken: boolean][] = [
    ['always_on', 0, unsampled, true],
    ['always_off', 1, CALLER, false],
    ['parentbased_always_on', 0, unsampled, false],
    ['parentbased_always_on', 0, undefined, true],
    ['parentbased_always_off', 0, CALLER, true],
    ['parentbased_always_off', 0, undefined, false],
    ['traceidratio', 0, CALLER, false],
    ['traceidratio', 1, unsampled, true],
    ['parentbased_traceidratio', 0, CALLER, true],
  ];
  for (const [name, ratio, parent, taken] of cases) {
    const { tracer, exported, traces } = setting(samplerOf(name, ratio));
    const root = tracer.span('root', { parent, kind: 'server' });
    tracer.span('inside', { parent: root.traceparent }).end();
    root.end();
    assert.is(exported.length, taken ? 2 : 0, `${name} ${ratio} ${parent}`);
    assert.is(traces[0]?.spans.length, 2, 'what is not exported can still be kept');
    assert.is(root.traceparent?.endsWith('-01'), taken);
  }
});

Recorded('are not recorded where nobody reads them, and pass the place of the caller on', () => {
  const tracer = new Tracer({ sampler: samplerOf('parentbased_traceidratio', 0), onSpan: () => assert.unreachable() });
  const unsampled = CALLER.replace(/01$/, '00');
  assert.is(tracer.span('a', { parent: unsampled, kind: 'server' }).traceparent, unsampled);
  const root = tracer.span('root', { kind: 'server' });
  assert.match(root.traceparent ?? '', /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  assert.is(tracer.span('inside', { parent: root.traceparent }).traceparent, root.traceparent);
  root.end();
});

Recorded('of the last failed and slow requests are kept', () => {
  const kept = new KeptTraces({ limit: 3, slowMs: 1000 });
  const tracer = new Tracer({ sampler: samplerOf('always_off', 0), onTrace: (trace) => kept.add(trace) });
  const run = (name: string, endedAt: number, error?: Error): void =>
    tracer.span(name, { startedAt: 0 }).end({ endedAt, error });
  for (let n = 1; n <= 5; n++) run(`slow ${n}`, 1000 + n);
  run('fast', 999);
  for (let n = 1; n <= 5; n++) run(`failed ${n}`, n, new Error(`${n}`));
  assert.equal(
    kept.list().map(({ root }) => root.name),
    ['slow 5', 'slow 4', 'slow 3', 'failed 5', 'failed 4', 'failed 3'],
  );
});

Recorded.run();
