import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { NumberPoint } from './metric-data.ts';
import { Metrics } from './metrics.ts';
import { observeProcess } from './process-metrics.ts';

const Measured = suite('the metrics of the process');

const read = (metrics: Metrics): ReadonlyMap<string, readonly NumberPoint[]> =>
  new Map(metrics.read().map(({ name, points }) => [name, points as readonly NumberPoint[]]));

Measured('are its CPU time, memory, and how busy and late the event loop is', async () => {
  const metrics = new Metrics();
  const stop = observeProcess(metrics);
  try {
    const first = read(metrics);
    assert.equal(
      first.get('process.cpu.time')?.map(({ attributes }) => attributes['cpu.mode']),
      ['user', 'system'],
    );
    assert.ok((first.get('process.memory.usage')?.[0]?.value ?? 0) > 10_000_000);
    assert.not(first.has('nodejs.eventloop.delay.p50'), 'the first reading begins the measurement');
    let now = first;
    while (!now.has('nodejs.eventloop.delay.max')) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      now = read(metrics);
    }
    const [p50 = -1, p99 = -1, max = -1] = ['p50', 'p99', 'max'].map(
      (name) => now.get(`nodejs.eventloop.delay.${name}`)?.[0]?.value,
    );
    assert.ok(p50 >= 0 && p99 >= p50 && max >= p99, `${p50} ${p99} ${max}`);
    const busy = now.get('nodejs.eventloop.utilization')?.[0]?.value ?? -1;
    assert.ok(busy >= 0 && busy <= 1, String(busy));
  } finally {
    stop();
  }
});

Measured.run();
