export { LoadHistory, LoadSample } from './load/load-history.ts';
export { type RequestTotals, requestTotals } from './load/work-totals.ts';
export { RouteWork, routeWork } from './load/route-work.ts';
export { type MetricDescription, Metrics } from './metrics.ts';
export type { NumberPoint } from './metric-data.ts';
export { observeProcess } from './process-metrics.ts';
export { MAX_PROFILE_S, Profiler } from './profile/profiler.ts';
export { labelName, sampleName } from './prometheus/names.ts';
export { type Format, FORMATS, metricsText } from './prometheus/text.ts';
export { mergedText } from './prometheus/merged-text.ts';
export { MetricExport, metricPointCounter } from './otlp/metric-export.ts';
export {
  otlpLogSender,
  otlpMetricSender,
  type OtlpOptions,
  otlpSender,
  type PostToCollector,
} from './otlp/otlp-sender.ts';
export { ExportQueue, logCounters, spanCounters } from './otlp/export-queue.ts';
export { KeptTraces } from './traces/kept-traces.ts';
export { samplerOf } from './traces/sampler.ts';
export { TraceReport, traceReport, TraceSummary, traceSummary } from './traces/trace-report.ts';
export { Tracer } from './traces/tracer.ts';
