import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MAX_SERIES, OVERFLOW } from './attribute-series.ts';
import { Metrics } from './metrics.ts';

const Added = suite('metrics');

const only = (metrics: Metrics): unknown => {
  const [{ kind, points } = { kind: undefined, points: [] }] = metrics.read();
  return { kind, points };
};

Added('of a counter are totals for each combination of attributes, in any order', () => {
  const metrics = new Metrics();
  const counter = metrics.counter('calls');
  counter.add();
  counter.add(2, { a: 1, b: 'x' });
  counter.add(3, { b: 'x', a: 1 });
  counter.add(1, { a: '1', b: 'x' });
  assert.equal(only(metrics), {
    kind: 'counter',
    points: [
      { attributes: {}, value: 1 },
      { attributes: { a: 1, b: 'x' }, value: 5 },
      { attributes: { a: '1', b: 'x' }, value: 1 },
    ],
  });
});

Added('of one combination add up, whether they come with one object, with others, or between many more', () => {
  const metrics = new Metrics();
  const counter = metrics.counter('calls');
  const objects = Array.from({ length: 50 }, (_, a) => ({ a }));
  for (let round = 0; round < 3; round += 1)
    for (const object of objects) {
      counter.add(1, object);
      counter.add(1, object);
      counter.add(1, { ...object });
    }
  const [{ points } = { points: [] }] = metrics.read();
  assert.equal(
    points,
    objects.map((attributes) => ({ attributes, value: 9 })),
  );
});

Added('of a counter do not fall', () => {
  const metrics = new Metrics();
  const counter = metrics.counter('calls');
  counter.add(5);
  for (const value of [-1, 0, Number.NaN, Number.POSITIVE_INFINITY]) counter.add(value);
  assert.equal(only(metrics), { kind: 'counter', points: [{ attributes: {}, value: 5 }] });
});

Added('of a gauge are its latest values', () => {
  const metrics = new Metrics();
  const gauge = metrics.gauge('open');
  for (const value of [3, -2, Number.NaN]) gauge.set(value, { of: 'a' });
  assert.equal(only(metrics), { kind: 'gauge', points: [{ attributes: { of: 'a' }, value: -2 }] });
});

Added('of a histogram are counts of values up to each bound', () => {
  const metrics = new Metrics();
  const histogram = metrics.histogram('size', { boundaries: [1, 10] });
  for (const value of [0.5, 1, 1.5, 10, 11, Number.NaN]) histogram.record(value);
  assert.equal(only(metrics), {
    kind: 'histogram',
    points: [{ attributes: {}, boundaries: [1, 10], counts: [2, 2, 1], sum: 24 }],
  });
});

Added('of a unit have bounds for it', () => {
  const metrics = new Metrics();
  for (const unit of ['s', 'By', '{attempt}']) metrics.histogram(unit, { unit }).record(1);
  const bounds = metrics.read().map((metric) => metric.kind === 'histogram' && metric.points[0]?.boundaries);
  assert.is(new Set(bounds.map(String)).size, 3);
  for (const each of bounds)
    assert.equal(
      each,
      [...(each || [])].toSorted((a, b) => a - b),
    );
});

Added('beyond the limit of series count in one series, and keep their sum', () => {
  const metrics = new Metrics();
  const counter = metrics.counter('paths');
  for (let path = 0; path < MAX_SERIES + 100; path += 1) counter.add(1, { path });
  for (let path = 0; path < MAX_SERIES + 100; path += 1) counter.add(1, { path });
  const [{ points } = { points: [] }] = metrics.read();
  assert.is(points.length, MAX_SERIES + 1);
  assert.equal(points.at(-1), { attributes: OVERFLOW, value: 200 });
});

Added('of one name come from all parts that use it, and from no part that means another kind', () => {
  const metrics = new Metrics();
  metrics.counter('calls').add();
  metrics.counter('calls').add();
  metrics.gauge('calls').set(7);
  metrics.histogram('calls').record(7);
  assert.equal(only(metrics), { kind: 'counter', points: [{ attributes: {}, value: 2 }] });
});

Added('that are observed are measured at each reading', () => {
  const metrics = new Metrics();
  let value = 0;
  metrics.observe('gauge', 'size', {}, () => (value++ === 0 ? [] : [{ attributes: {}, value }]));
  assert.equal(metrics.read(), []);
  assert.equal(only(metrics), { kind: 'gauge', points: [{ attributes: {}, value: 2 }] });
});

Added('have spans that pass the place in the trace on', () => {
  const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  assert.is(new Metrics().span('work', { parent }).traceparent, parent);
});

Added('keeps the last value of a sampled trace in each bucket', () => {
  const metrics = new Metrics();
  const histogram = metrics.histogram('h', { boundaries: [1, 2] });
  const place = (flags: string, span = 'b'): string => `00-${'a'.repeat(32)}-${span.repeat(16)}-${flags}`;
  histogram.record(0.5, {}, place('00'));
  histogram.record(0.5);
  const exemplars = () => {
    const [metric] = metrics.read();
    return metric?.kind === 'histogram' ? metric.points[0]?.exemplars : assert.unreachable();
  };
  assert.is(exemplars(), undefined);
  histogram.record(1.5, {}, place('01'));
  histogram.record(1.75, {}, place('01', 'c'));
  const kept = exemplars() ?? [];
  assert.equal([kept[0], kept[1]?.value, kept[1]?.traceparent], [undefined, 1.75, place('01', 'c')]);
});

Added.run();
