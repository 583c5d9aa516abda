import type { MetricData } from '../metric-data.ts';

/** Words for units of UCUM. Source: OpenTelemetry's specification "Prometheus and OpenMetrics Compatibility". */
const UNITS: Readonly<Record<string, string>> = { s: 'seconds', By: 'bytes', '1': 'ratio', '%': 'percent' };

/** The names of a metric in Prometheus. */
export interface ExposedName {
  /** With the unit, without the suffixes of samples: `http_server_request_duration_seconds`. */
  readonly family: string;
  /** A word such as `seconds`; empty where the unit has none, such as `{call}`. */
  readonly unit: string;
}

/** Returns the names of a metric as OpenTelemetry's exporters for Prometheus make them. */
export function exposedName({ name, unit, kind }: Pick<MetricData, 'name' | 'unit' | 'kind'>): ExposedName {
  const word = unit === '1' && kind !== 'gauge' ? '' : (UNITS[unit] ?? '');
  const plain = labelName(name).replace(/_total$/, '');
  return { family: word === '' || plain.endsWith(`_${word}`) ? plain : `${plain}_${word}`, unit: word };
}

/** Returns the name that queries use, without the `_bucket`, `_sum` and `_count` of a histogram. */
export function sampleName(metric: Pick<MetricData, 'name' | 'unit' | 'kind'>): string {
  const { family } = exposedName(metric);
  return metric.kind === 'counter' ? `${family}_total` : family;
}

/** Returns a name with only the characters that names of labels and metrics may have. */
export function labelName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]+/g, '_').replace(/^(?=\d)/, '_');
}
