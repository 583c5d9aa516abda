import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../core/log/logger.ts';
import { noTelemetry } from '../../core/telemetry.ts';
import { until } from '../../../test/helpers/server.ts';
import { ReadableHistogram } from '../instruments.ts';
import { MetricExport } from './metric-export.ts';
import { type MetricReport, otlpMetricsOf, type Temporality } from './otlp-metrics.ts';

const Export = suite('exports of metrics');
const toOtlp = otlpMetricsOf({}, '0');
const FACTS = { name: 'waits', unit: 's', description: 'Waits.' };
const now = Date.now;
Export.after.each(() => void (Date.now = now));

const exemplarsOf = (report: MetricReport): number[] =>
  toOtlp(report).scopeMetrics.flatMap(({ metrics }) =>
    metrics.flatMap(({ dataPoints }) =>
      dataPoints.flatMap((point) =>
        ((point as { readonly exemplars?: readonly { readonly value: number }[] }).exemplars ?? []).map(
          ({ value }) => value,
        ),
      ),
    ),
  );

/** Exports the histogram to `send` until it was called `times` times. Returns the exemplars of each report. */
async function exported(
  histogram: ReadableHistogram,
  temporality: Temporality,
  times: number,
  send: (number: number) => number,
): Promise<number[][]> {
  const found: number[][] = [];
  const metrics = new MetricExport({
    read: () => [{ ...FACTS, ...histogram.read() }],
    sender: Promise.resolve((report: MetricReport) => {
      found.push(exemplarsOf(report));
      return Promise.resolve().then(() => send(found.length));
    }),
    temporality,
    intervalMs: 1,
    timeoutMs: 1000,
    telemetry: noTelemetry,
    log: silentLogger,
  });
  await until(() => Promise.resolve(found.length >= times));
  await metrics.close(1000);
  return found;
}

for (const temporality of ['cumulative', 'delta'] as const) {
  Export(`send an exemplar of the millisecond of the export once (${temporality})`, async () => {
    const at = now();
    Date.now = () => at; // the clock has milliseconds, and records and exports are many in one
    const histogram = new ReadableHistogram([1, 10]);
    const trace = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    histogram.record(0.5, {}, trace);
    const found = await exported(histogram, temporality, 3, (number) => {
      histogram.record(5, {}, number === 1 ? trace : undefined);
      return 0;
    });
    assert.equal(found.flat(), [0.5, 5], JSON.stringify(found));
  });
}

Export('send an exemplar again that the collector did not get', async () => {
  const histogram = new ReadableHistogram([1]);
  histogram.record(0.5, {}, `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`);
  const found = await exported(histogram, 'cumulative', 3, (number) => {
    if (number === 1) throw new Error('the collector is away');
    return 0;
  });
  assert.equal(found.slice(0, 3), [[0.5], [0.5], []]);
});

Export.run();
