import type { Attributes } from '../../core/telemetry.ts';
import type { Exemplar, HistogramPoint, MetricData } from '../metric-data.ts';
import { spanContextOf } from '../traces/ids.ts';
import { type ExposedName, exposedName, labelName, sampleName } from './names.ts';

/** The two text formats that Prometheus reads. */
export const FORMATS = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
} as const;

export type Format = keyof typeof FORMATS;

/**
 * Returns metrics as text. `target` describes this process; it becomes the labels of `target_info`. A metric whose name
 * differs from an earlier one only in characters that Prometheus does not know is left out, because a family may occur
 * once.
 */
export function metricsText(metrics: readonly MetricData[], target: Attributes, format: Format): string {
  const families = new Map<string, string>();
  for (const metric of metrics) {
    const exposed = exposedName(metric);
    if (!families.has(exposed.family)) families.set(exposed.family, familyText(metric, exposed, format));
  }
  const end = format === 'openmetrics' ? '# EOF\n' : '';
  return `${targetText(target, format)}${[...families.values()].join('')}${end}`;
}

function targetText(target: Attributes, format: Format): string {
  const [name, type] = format === 'openmetrics' ? ['target', 'info'] : ['target_info', 'gauge'];
  return `# TYPE ${name} ${type}\n# HELP ${name} What this process is.\ntarget_info{${labelsText(target)}} 1\n`;
}

function familyText(metric: MetricData, { family, unit }: ExposedName, format: Format): string {
  const { kind, description } = metric;
  const sampled = sampleName(metric);
  const named = format === 'openmetrics' ? family : sampled;
  const head = [
    `# TYPE ${named} ${kind}`,
    ...(unit !== '' && format === 'openmetrics' ? [`# UNIT ${named} ${unit}`] : []),
    ...(description !== '' ? [`# HELP ${named} ${escaped(description, format === 'openmetrics')}`] : []),
  ];
  const samples =
    metric.kind === 'histogram'
      ? metric.points.flatMap((point) => histogramSamples(family, point, format))
      : metric.points.map(({ attributes, value }) => sample(sampled, labelsText(attributes), value));
  return `${[...head, ...samples].join('\n')}\n`;
}

function histogramSamples(
  family: string,
  { attributes, boundaries, counts, sum, exemplars }: HistogramPoint,
  format: Format,
): string[] {
  const labels = labelsText(attributes);
  const bucket = `${family}_bucket{${labels === '' ? '' : `${labels},`}le="`;
  const bounds = boundTexts(boundaries);
  let below = 0;
  const buckets = counts.map((count, index) => {
    below += count;
    const exemplar = format === 'openmetrics' ? exemplars?.[index] : undefined;
    return `${bucket}${bounds[index]}"} ${below}${exemplar ? exemplarText(exemplar) : ''}`;
  });
  return [...buckets, sample(`${family}_sum`, labels, sum), sample(`${family}_count`, labels, below)];
}

/** Only OpenMetrics knows exemplars. Times are in seconds. */
function exemplarText({ value, at, traceparent }: Exemplar): string {
  const { traceId, spanId } = spanContextOf(traceparent);
  return ` # {trace_id="${traceId}",span_id="${spanId}"} ${value} ${at / 1000}`;
}

function sample(name: string, labels: string, value: number): string {
  return labels === '' ? `${name} ${value}` : `${name}{${labels}} ${value}`;
}

/** Texts of bounds. The series of an instrument share their bounds. */
const BOUND_TEXTS = new WeakMap<readonly number[], readonly string[]>();

/** Returns bounds as OpenMetrics writes them, also in the other format, so that both name the same series. */
function boundTexts(bounds: readonly number[]): readonly string[] {
  const known = BOUND_TEXTS.get(bounds);
  if (known) return known;
  const texts = [...bounds.map((bound) => (Number.isInteger(bound) ? `${bound}.0` : String(bound))), '+Inf'];
  BOUND_TEXTS.set(bounds, texts);
  return texts;
}

/** Labels of series, whose attributes are the same object at each reading. */
const LABELS = new WeakMap<Attributes, string>();

function labelsText(attributes: Attributes): string {
  const known = LABELS.get(attributes);
  if (known !== undefined) return known;
  const text = Object.entries(attributes)
    .map(([name, value]) => `${labelName(name)}="${escaped(String(value), true)}"`)
    .join(',');
  LABELS.set(attributes, text);
  return text;
}

function escaped(text: string, hasQuotes: boolean): string {
  const escapedText = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return hasQuotes ? escapedText.replaceAll('"', '\\"') : escapedText;
}
