import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../core/abort.ts';
import { Metrics } from '../metrics.ts';
import { LoadHistory } from './load-history.ts';
import { quantile } from './quantile.ts';

const Load = suite('the load of a host');

Load('has the quantiles of a histogram as Prometheus estimates them', () => {
  const boundaries = [0.1, 0.2, 0.4];
  const cases: [q: number, counts: number[], expected: number | null][] = [
    [0.5, [0, 0, 0, 0], null],
    [0.5, [10, 0, 0, 0], 0.05],
    [0.5, [5, 5, 0, 0], 0.1],
    [0.75, [5, 5, 0, 0], 0.15],
    [1, [5, 5, 0, 0], 0.2],
    [0, [0, 5, 0, 0], 0.1],
    [0.95, [0, 0, 0, 3], 0.4],
    [0.5, [1, 0, 1, 0], 0.1],
  ];
  for (const [q, counts, expected] of cases) {
    const value = quantile(q, boundaries, counts);
    if (expected === null || value === null) assert.is(value, expected);
    else assert.ok(Math.abs(value - expected) < 1e-9, `${q} of ${counts}: ${value}`);
  }
});

Load('is what happened since the sample before, and is forgotten after a while', async () => {
  const metrics = new Metrics();
  const requests = metrics.histogram('http.server.request.duration', { unit: 's', boundaries: [0.1, 1] });
  const tokens = metrics.counter('aana.engine.tokens.generated');
  let measured = 0;
  metrics.observe('gauge', 'unrelated', {}, () => [{ attributes: {}, value: (measured += 1) }]);
  requests.record(0.05, { 'http.response.status_code': 200 }); // before the history begins
  const history = new LoadHistory({
    metrics,
    memory: () => ({ free: 30, limit: 100 }),
    intervalMs: 40,
    limit: 3,
  });
  try {
    for (const [status, count] of [
      [200, 6],
      [404, 1],
      [500, 2],
      [503, 1],
    ] as const)
      for (let n = 0; n < count; n += 1) requests.record(0.5, { 'http.response.status_code': status });
    tokens.add(50, { 'aana.deployment': 'a' });
    tokens.add(50, { 'aana.deployment': 'b' });
    while (history.list().length === 0) await delay(10);
    const [first] = history.list();
    assert.ok(Math.abs(first!.failed_per_s / first!.requests_per_s - 0.3) < 1e-9);
    assert.ok(Math.abs(first!.tokens_per_s / first!.requests_per_s - 10) < 1e-9);
    assert.ok(Math.abs(first!.latency_p50_s! - 0.55) < 1e-9);
    assert.equal([first!.memory_used_bytes, first!.memory_limit_bytes], [70, 100]);
    assert.ok(first!.busy_cores >= 0 && first!.busy_cores <= first!.cores);
    while (history.list()[0] === first) await delay(10);
    const later = history.list();
    assert.is(later.length, 3);
    for (const { requests_per_s: rate, latency_p50_s: latency } of later) assert.equal([rate, latency], [0, null]);
    assert.ok(later[0]!.tokens_per_s > 0 && later[0]!.tokens_per_s < first!.tokens_per_s, 'a mean of some samples');
    while (history.list().at(-1)!.tokens_per_s > 0) await delay(10);
    assert.is(measured, 0, 'reading the load measures nothing else');
  } finally {
    history.stop();
  }
});

Load.run();
