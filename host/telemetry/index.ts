export { type MetricDescription, Metrics } from './metrics.ts';
export type { MetricData, NumberPoint } from './metric-data.ts';
export { observeProcess } from './process-metrics.ts';
export { labelName, sampleName } from './prometheus/names.ts';
export { type Format, FORMATS, metricsText } from './prometheus/text.ts';
