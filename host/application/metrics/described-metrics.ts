import type { LlamaCounts, LlamaEmbeddingCounts } from '../../../native/lib/index.ts';
import { AlertTelemetry } from '../../base/alerts/alert-telemetry.ts';
import { systemClock } from '../../base/core/clock.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { retryCounter } from '../../inference/deployments/handle/deployment-calls.ts';
import { GenerationTelemetry } from '../../inference/deployments/handle/generation-telemetry.ts';
import { LoadedModels } from '../../inference/deployments/process/loaded-models.ts';
import { EmbeddingMetrics } from '../../inference/engines/metrics/embedding-metrics.ts';
import { LlamaMetrics } from '../../inference/engines/metrics/llama-metrics.ts';
import { WaitTimes } from '../../inference/engines/metrics/wait-times.ts';
import { userRefusalCounter } from '../../data/access/user-limits.ts';
import { refusalCounter } from '../../apis/http/guards/rate-limit-guard.ts';
import { requestRecorder } from '../../apis/http/request/request-telemetry.ts';
import { MediaTelemetry } from '../../io/media/media-telemetry.ts';
import { PluginTelemetry } from '../../endpoints/plugins/invocation/plugin-telemetry.ts';
import type { ReplicaMetric } from '../../inference/rpc/index.ts';
import { CallTelemetry } from '../../inference/replicas/calls/call-telemetry.ts';
import { StorageTelemetry } from '../../data/storage/storage-telemetry.ts';
import { TaskTelemetry } from '../../data/tasks/task-telemetry.ts';
import {
  logCounters,
  type MetricDescription,
  metricPointCounter,
  Metrics,
  spanCounters,
} from '../../base/telemetry/index.ts';
import { UsageTelemetry } from '../../data/usage/usage-telemetry.ts';
import { DeliveryTelemetry } from '../../data/webhooks/delivery-telemetry.ts';
import { fallbackCounter } from '../ports/model-directory.ts';
import { observeApplication } from './observe-application.ts';

/** Metrics of one subject. */
export interface DescribedPart {
  readonly title: string;
  readonly metrics: readonly MetricDescription[];
}

/** The parts that report metrics, by the titles of their sections. */
const PARTS: readonly (readonly [title: string, report: (metrics: Metrics) => unknown])[] = [
  [
    'Requests',
    (metrics) => [requestRecorder(metrics, () => undefined), refusalCounter(metrics), userRefusalCounter(metrics)],
  ],
  [
    'Calls of deployments',
    (metrics) => [
      new CallTelemetry('', systemClock, metrics, silentLogger),
      retryCounter(metrics),
      fallbackCounter(metrics),
    ],
  ],
  ['Models for texts', (metrics) => new GenerationTelemetry(metrics, systemClock)],
  ['Engines of language models, embeddings and scores', describeEngines],
  ['Deployment classes with many models', describeModels],
  ['Plugins', (metrics) => new PluginTelemetry('', metrics)],
  ['Media', (metrics) => new MediaTelemetry(metrics)],
  ['Tasks', (metrics) => new TaskTelemetry(metrics)],
  ['Webhooks', (metrics) => new DeliveryTelemetry(metrics)],
  ['Alerts', (metrics) => new AlertTelemetry(metrics)],
  ['Usage', (metrics) => new UsageTelemetry(metrics)],
  ['Database', (metrics) => new StorageTelemetry(metrics, 'sqlite')],
  [
    'Export of spans, metrics and log lines',
    (metrics) => [spanCounters(metrics), metricPointCounter(metrics), logCounters(metrics)],
  ],
  [
    'Replicas, plugins, the host process and the machine',
    (metrics) => observeApplication(metrics, { status: () => ({}) }, { list: () => [] })(),
  ],
];

/** Returns all metrics of the host. */
export function describedMetrics(): DescribedPart[] {
  return PARTS.map(([title, report]) => {
    const metrics = new Metrics();
    report(metrics);
    return { title, metrics: metrics.describe() };
  });
}

/** Describes what replicas send, with engines that have computed something. */
function describeEngines(metrics: Metrics): void {
  const waits = new WaitTimes();
  const described = new Set<string>();
  for (const engine of [
    new LlamaMetrics(ones<LlamaCounts>, waits),
    new EmbeddingMetrics(ones<LlamaEmbeddingCounts>, waits),
  ]) {
    waits.add(null, 1);
    for (const metric of engine.report()) {
      if (described.has(metric.name)) continue;
      described.add(metric.name);
      describeReported(metrics, metric);
    }
  }
}

/** Describes what replicas of a class with many models send. */
function describeModels(metrics: Metrics): void {
  const limits = { maxModels: 1 };
  const models = new LoadedModels({ limits, log: silentLogger, load: () => ({}), onChange: () => {} });
  for (const metric of models.metrics()) describeReported(metrics, metric);
}

function describeReported(metrics: Metrics, { kind, name, unit, description, values }: ReplicaMetric): void {
  const attributes = ['aana.deployment', ...Object.keys(values[0]?.attributes ?? {})];
  metrics[kind](name, { unit, description, attributes });
}

/** Counters that are all 1. */
const ones = <T extends object>(): T => new Proxy({} as T, { get: () => 1 });
