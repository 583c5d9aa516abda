import type { ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { Attributes } from '../../core/telemetry.ts';
import type { Exemplar, MetricData } from '../metric-data.ts';

/** Metrics as OpenTelemetry's serialisers take them. */
export type ResourceMetrics = Parameters<typeof ProtobufMetricsSerializer.serializeRequest>[0];
type OtlpMetric = ResourceMetrics['scopeMetrics'][number]['metrics'][number];

/** Totals that belong to a time: since the start of the host, or since the export before. */
export type Temporality = 'cumulative' | 'delta';

/** What instruments have reported in a time. */
export interface MetricReport {
  readonly metrics: readonly MetricData[];
  readonly temporality: Temporality;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** Whether the collector has an exemplar, so that it is left out. */
  readonly hasExemplar: (exemplar: Exemplar) => boolean;
}

// The numbers of `ValueType`, `DataPointType` and `AggregationTemporality` in OpenTelemetry's API and SDK.
const DOUBLE = 1;
const HISTOGRAM = 0;
const GAUGE = 2;
const SUM = 3;
const TEMPORALITIES = { delta: 0, cumulative: 1 } as const;

/** Returns the function that converts reports of the process that `resource` describes. */
export function otlpMetricsOf(resource: Attributes, version: string): (report: MetricReport) => ResourceMetrics {
  const from = { resource: resourceFromAttributes(resource) };
  const scope = { name: 'aana-host', version };
  return ({ metrics, ...time }) => ({
    ...from,
    scopeMetrics: [{ scope, metrics: metrics.map((metric) => otlpMetricOf(metric, time)) }],
  });
}

function otlpMetricOf(
  metric: MetricData,
  { temporality, startedAt, endedAt, hasExemplar }: Omit<MetricReport, 'metrics'>,
): OtlpMetric {
  const { name, unit, description } = metric;
  const descriptor = { name, unit, description, valueType: DOUBLE };
  const common = { descriptor, aggregationTemporality: TEMPORALITIES[temporality] } as const;
  const time = { startTime: hrTime(startedAt), endTime: hrTime(endedAt) };
  if (metric.kind === 'histogram') {
    const dataPoints = metric.points.map(({ attributes, boundaries, counts, sum, exemplars = [] }) => {
      const buckets = { boundaries: [...boundaries], counts: [...counts] };
      const value = { buckets, sum, count: counts.reduce((all, count) => all + count, 0) };
      return {
        ...time,
        attributes,
        value,
        exemplars: exemplars.filter((one) => one !== undefined && !hasExemplar(one)),
      };
    });
    return { ...common, dataPointType: HISTOGRAM, dataPoints };
  }
  const dataPoints = metric.points.map(({ attributes, value }) => ({ ...time, attributes, value }));
  return metric.kind === 'gauge'
    ? { ...common, dataPointType: GAUGE, dataPoints }
    : { ...common, dataPointType: SUM, isMonotonic: true, dataPoints };
}

/** Returns whole milliseconds as seconds and nanoseconds. */
function hrTime(ms: number): [seconds: number, nanoseconds: number] {
  return [Math.floor(ms / 1000), Math.round(ms % 1000) * 1e6];
}
