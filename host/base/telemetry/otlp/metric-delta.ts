import type { Attributes } from '../../core/telemetry.ts';
import type { HistogramPoint, MetricData, NumberPoint } from '../metric-data.ts';

/**
 * Returns what was added to counters and histograms between two readings of the same instruments. Series to which
 * nothing was added are left out, and gauges stay as they are.
 */
export function metricDelta(before: readonly MetricData[], now: readonly MetricData[]): MetricData[] {
  const earlier = new Map(before.map((metric) => [metric.name, metric]));
  return now.flatMap((metric): MetricData[] => {
    const old = earlier.get(metric.name);
    if (metric.kind === 'gauge' || old?.kind !== metric.kind) return [metric];
    if (metric.kind === 'histogram') {
      const points = changed(metric.points, old.points as readonly HistogramPoint[], addedToHistogram);
      return points.length === 0 ? [] : [{ ...metric, points }];
    }
    const points = changed(metric.points, old.points as readonly NumberPoint[], addedToNumber);
    return points.length === 0 ? [] : [{ ...metric, points }];
  });
}

/** Returns the growth of each series, where `added` returns undefined without growth. */
function changed<P extends { readonly attributes: Attributes }>(
  now: readonly P[],
  before: readonly P[],
  added: (point: P, old: P) => P | undefined,
): P[] {
  const earlier = new Map(before.map((point) => [keyOf(point.attributes), point]));
  return now.flatMap((point) => {
    const old = earlier.get(keyOf(point.attributes));
    return (old ? added(point, old) : point) ?? [];
  });
}

function keyOf(attributes: Attributes): string {
  return JSON.stringify(Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A total below the one before has begun again. */
function addedToNumber(point: NumberPoint, old: NumberPoint): NumberPoint | undefined {
  const value = point.value < old.value ? point.value : point.value - old.value;
  return value === 0 ? undefined : { ...point, value };
}

function addedToHistogram(point: HistogramPoint, old: HistogramPoint): HistogramPoint | undefined {
  const counts = point.counts.map((count, bucket) => count - (old.counts[bucket] ?? 0));
  return counts.every((count) => count === 0) ? undefined : { ...point, counts, sum: point.sum - old.sum };
}
