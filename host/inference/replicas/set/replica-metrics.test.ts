import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Recorder } from '../../../application/fixtures/recorder.ts';
import type { ReplicaMetric } from '../../rpc/index.ts';
import { setOf, started, stopAll, pidOf, until } from '../fixtures/sample-sets.ts';
import { ReplicaMetrics } from './replica-metrics.ts';

const Metrics = suite('metrics of replicas');
Metrics.after.each(stopAll);

const metric = (kind: ReplicaMetric['kind'], ...values: number[]): ReplicaMetric => ({
  name: `test.${kind}`,
  kind,
  unit: '{thing}',
  description: 'Things.',
  values: values.map((value) => ({ value })),
});
const sum = (values: readonly { readonly value: number }[]): number =>
  values.reduce((all, { value }) => all + value, 0);

Metrics('are added up over processes, and never go backwards', () => {
  const telemetry = new Recorder();
  const metrics = new ReplicaMetrics('sample', telemetry);
  const [first, second] = [metrics.open(), metrics.open()];
  first.report([metric('counter', 5), metric('gauge', 3)]);
  second.report([metric('counter', 2), metric('gauge', 4)]);
  first.report([metric('counter', 9), metric('gauge', 1)]);
  first.close();
  const restarted = metrics.open();
  restarted.report([metric('counter', 1), metric('gauge', 2), metric('histogram', 7, 8)]);
  restarted.report([metric('counter', 0), metric('gauge', Number.NaN)]);
  assert.equal(
    telemetry.of('test.counter').map(({ value }) => value),
    [5, 2, 4, 1],
  );
  assert.equal(
    telemetry.of('test.gauge').map(({ value }) => value),
    [3, 7, 5, 4, 6],
  );
  assert.equal(telemetry.of('test.histogram'), [
    { value: 7, attributes: { 'aana.deployment': 'sample' } },
    { value: 8, attributes: { 'aana.deployment': 'sample' } },
  ]);
});

Metrics('have a series for each set of attributes', () => {
  const telemetry = new Recorder();
  const process = new ReplicaMetrics('sample', telemetry).open();
  const report = (...values: ReplicaMetric['values']): void =>
    process.report([{ ...metric('counter'), name: 'test.by', values }]);
  report({ value: 2, attributes: { of: 'a' } }, { value: 3, attributes: { of: 'b' } });
  report({ value: 4, attributes: { of: 'a' } }, { value: 3, attributes: { of: 'b' } });
  assert.equal(
    telemetry.of('test.by').map(({ value, attributes }) => [value, attributes['of']]),
    [
      [2, 'a'],
      [3, 'b'],
      [2, 'a'],
    ],
  );
});

Metrics('that arrive after the process is gone count, but are no present values', () => {
  const telemetry = new Recorder();
  const process = new ReplicaMetrics('sample', telemetry).open();
  process.report([metric('gauge', 3)]);
  process.close();
  process.report([metric('counter', 5), metric('gauge', 3)]);
  assert.is(sum(telemetry.of('test.counter')), 5);
  assert.equal(
    telemetry.of('test.gauge').map(({ value }) => value),
    [3, 0],
  );
});

Metrics('are limited in number', () => {
  const telemetry = new Recorder();
  const process = new ReplicaMetrics('sample', telemetry).open();
  process.report(Array.from({ length: 300 }, (_, n) => ({ ...metric('counter', 1), name: `test.${n}` })));
  assert.is(new Set(telemetry.values.map(({ name }) => name)).size, 200);
});

Metrics('come with the health checks and at the end, and go on after a restart', async () => {
  const telemetry = new Recorder();
  const total = (): number => sum(telemetry.of('sample.echoes'));
  const present = (): number | undefined => telemetry.of('sample.replicas').at(-1)?.value;
  const set = await started({ telemetry, healthPeriodMs: 50 });
  for (let n = 0; n < 3; n += 1) await set.call('echo', {});
  await until(() => total() === 3 && present() === 1, 'the calls are counted');
  process.kill(pidOf(set), 'SIGKILL');
  await until(() => present() === 0, 'the process is gone');
  await until(async () => (await set.call('echo', {}).catch(() => undefined)) !== undefined, 'it serves again');
  await until(() => total() === 4 && present() === 1, 'the total goes on');
  await set.stop(0);
  assert.equal([total(), present()], [4, 0]);
  assert.ok(telemetry.of('sample.echoes').every(({ value }) => value > 0));

  const silent = new Recorder();
  const ended = setOf({ telemetry: silent });
  await ended.start();
  await ended.call('echo', {});
  await ended.stop(0);
  assert.is(sum(silent.of('sample.echoes')), 1);
});

Metrics.run();
