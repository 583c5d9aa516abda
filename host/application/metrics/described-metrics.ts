import type { LlamaCounts } from '../../../native/lib/index.ts';
import { systemClock } from '../../core/clock.ts';
import { retryCounter } from '../../deployments/handle/deployment-calls.ts';
import { GenerationTelemetry } from '../../deployments/handle/generation-telemetry.ts';
import { LlamaMetrics } from '../../engines/metrics/llama-metrics.ts';
import { WaitTimes } from '../../engines/metrics/wait-times.ts';
import { refusalCounter } from '../../http/guards/rate-limit-guard.ts';
import { requestRecorder } from '../../http/request/request-telemetry.ts';
import { MediaTelemetry } from '../../media/media-telemetry.ts';
import { PluginTelemetry } from '../../plugins/invocation/plugin-telemetry.ts';
import { CallTelemetry } from '../../replicas/calls/call-telemetry.ts';
import { StorageTelemetry } from '../../storage/storage-telemetry.ts';
import { TaskTelemetry } from '../../tasks/task-telemetry.ts';
import { type MetricDescription, metricPointCounter, Metrics, spanCounters } from '../../telemetry/index.ts';
import { DeliveryTelemetry } from '../../webhooks/delivery-telemetry.ts';
import { observeApplication } from './observe-application.ts';

/** Metrics of one subject. */
export interface DescribedPart {
  readonly title: string;
  readonly metrics: readonly MetricDescription[];
}

/** The parts that report metrics, by the titles of their sections. */
const PARTS: readonly (readonly [title: string, report: (metrics: Metrics) => unknown])[] = [
  ['Requests', (metrics) => [requestRecorder(metrics, () => undefined), refusalCounter(metrics)]],
  ['Calls of deployments', (metrics) => [new CallTelemetry('', systemClock, metrics), retryCounter(metrics)]],
  ['Models for texts', (metrics) => new GenerationTelemetry(metrics, systemClock)],
  ['Engines of language models', describeEngine],
  ['Plugins', (metrics) => new PluginTelemetry('', metrics)],
  ['Media', (metrics) => new MediaTelemetry(metrics)],
  ['Tasks', (metrics) => new TaskTelemetry(metrics)],
  ['Webhooks', (metrics) => new DeliveryTelemetry(metrics)],
  ['Database', (metrics) => new StorageTelemetry(metrics, 'sqlite')],
  ['Export of spans and metrics', (metrics) => [spanCounters(metrics), metricPointCounter(metrics)]],
  ['Replicas, the host process and the machine', (metrics) => observeApplication(metrics, { status: () => ({}) })()],
];

/** Returns all metrics of the host. */
export function describedMetrics(): DescribedPart[] {
  return PARTS.map(([title, report]) => {
    const metrics = new Metrics();
    report(metrics);
    return { title, metrics: metrics.describe() };
  });
}

/** Describes what a replica sends, with an engine that has computed something. */
function describeEngine(metrics: Metrics): void {
  const counts = new Proxy({} as LlamaCounts, { get: () => 1 });
  const waits = new WaitTimes();
  waits.add(null, 1);
  for (const { kind, name, unit, description, values } of new LlamaMetrics(() => counts, waits).report()) {
    const attributes = ['aana.deployment', ...Object.keys(values[0]?.attributes ?? {})];
    metrics[kind](name, { unit, description, attributes });
  }
}
