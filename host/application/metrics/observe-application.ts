import type { InstrumentOptions } from '../../base/core/telemetry.ts';
import { totalMainBytes } from '../../base/core/machine/total-memory.ts';
import { freeMainBytes } from '../../base/core/machine/main-memory.ts';
import type { PluginSet, PluginState } from '../../endpoints/plugins/index.ts';
import type { DeploymentManager } from '../../inference/deployments/index.ts';
import { droppedLogLines } from '../ports/standard-error-log.ts';
import type { ReplicaSetStatus } from '../../inference/replicas/index.ts';
import { LoadHistory, type Metrics, type NumberPoint, observeProcess } from '../../base/telemetry/index.ts';

/**
 * Adds what is measured when the metrics are read: this process, the memory of the machine, the processes of plugins
 * and, in the controller, the replicas. Returns a function that ends the measurement.
 */
export function observeApplication(
  metrics: Metrics,
  deployments: Pick<DeploymentManager, 'status'> | undefined,
  plugins: Pick<PluginSet, 'list'>,
): () => void {
  observeMemory(metrics);
  observeLog(metrics);
  if (deployments) observeReplicas(metrics, deployments);
  observePlugins(metrics, plugins);
  return observeProcess(metrics);
}

/** Time between two samples of the load, and the samples of a quarter of an hour. */
const LOAD = { intervalMs: 2000, limit: 450 };

/** Returns the load of this host from now on. */
export function watchLoad(metrics: Metrics): LoadHistory {
  const memory = (): { free: number | undefined; limit: number } => ({
    free: freeMainBytes(),
    limit: totalMainBytes(),
  });
  return new LoadHistory({ metrics, memory, ...LOAD });
}

function observeLog(metrics: Metrics): void {
  const dropped = {
    unit: '{line}',
    description: 'Log lines that could not be written, by the reason.',
    attributes: ['error.type'],
  };
  metrics.observe('counter', 'aana.log.lines.dropped', dropped, () =>
    droppedLogLines().map(({ reason, lines }) => ({ attributes: { 'error.type': reason }, value: lines })),
  );
}

function observeMemory(metrics: Metrics): void {
  const free = { unit: 'By', description: 'Main memory that can be allocated without swapping, within the limit.' };
  metrics.observe('gauge', 'system.memory.linux.available', free, () => {
    const value = freeMainBytes();
    return value === undefined ? [] : [{ attributes: {}, value }];
  });
  const limit = { unit: 'By', description: 'Main memory of the machine, or the limit of the container.' };
  metrics.observe('gauge', 'system.memory.limit', limit, () => [{ attributes: {}, value: totalMainBytes() }]);
}

/** A measurement of the replicas of one deployment. Its series exist as long as the deployment. */
type Measure = (status: ReplicaSetStatus) => readonly NumberPoint[];

function observePlugins(metrics: Metrics, plugins: Pick<PluginSet, 'list'>): void {
  const attributes = ['aana.plugin'];
  const of = (value: (state: PluginState) => number | null) => (): NumberPoint[] =>
    plugins.list().flatMap((state) => {
      const measured = value(state);
      return measured === null ? [] : [{ attributes: { 'aana.plugin': state.name }, value: measured }];
    });
  const memory = { unit: 'By', description: 'Private memory of the process of a plugin.', attributes };
  metrics.observe(
    'gauge',
    'aana.plugin.memory',
    memory,
    of(({ memory_bytes: bytes }) => bytes),
  );
  const processes = {
    unit: '{process}',
    description:
      'Processes of the serving version of a plugin: 1, or 0 while `plugin_idle_s` has ended it until the next ' +
      'request.',
    attributes,
  };
  metrics.observe(
    'gauge',
    'aana.plugin.processes',
    processes,
    of(({ state, version }) => (version === null ? null : Number(state === 'running'))),
  );
  const denied = { unit: '{call}', description: 'Calls of the host that were denied to a plugin.', attributes };
  metrics.observe(
    'counter',
    'aana.plugin.calls.denied',
    denied,
    of(({ counters }) => counters.denied),
  );
  const restarts = {
    unit: '{restart}',
    description: 'How often the process of the serving version of a plugin has ended unexpectedly.',
    attributes,
  };
  metrics.observe(
    'gauge',
    'aana.plugin.restarts',
    restarts,
    of((state) => state.restarts),
  );
}

function observeReplicas(metrics: Metrics, deployments: Pick<DeploymentManager, 'status'>): void {
  const observe = (name: string, options: InstrumentOptions, measure: Measure): void =>
    metrics.observe('gauge', name, { ...options, attributes: ['aana.deployment', ...(options.attributes ?? [])] }, () =>
      Object.entries(deployments.status()).flatMap(([deployment, status]) =>
        measure(status).map(({ attributes, value }) => ({
          attributes: { 'aana.deployment': deployment, ...attributes },
          value,
        })),
      ),
    );
  const replicas = { unit: '{replica}', description: 'Replicas by their state.', attributes: ['aana.replica.state'] };
  observe('aana.deployment.replicas', replicas, replicasByState);
  const queued = { unit: '{call}', description: 'Calls that wait for a replica.' };
  observe('aana.deployment.calls.queued', queued, (status) => [{ attributes: {}, value: status.queued }]);
  const memory = {
    unit: 'By',
    description: 'Memory of the replicas at their last health checks: main memory of their own, of files, and of GPUs.',
    attributes: ['aana.memory.kind'],
  };
  observe('aana.deployment.memory', memory, memoryByKind);
}

/** As for replicas, and `failed` for those that were given up. */
const STATES = ['starting', 'ready', 'draining', 'stopped', 'exited', 'failed'] as const;

function replicasByState({ replicas }: ReplicaSetStatus): NumberPoint[] {
  const states = replicas.map(({ state, failure }) => (failure === '' ? state : 'failed'));
  return STATES.map((state) => ({
    attributes: { 'aana.replica.state': state },
    value: states.filter((one) => one === state).length,
  }));
}

function memoryByKind({ replicas }: ReplicaSetStatus): NumberPoint[] {
  const memories = replicas.flatMap(({ memory }) => memory ?? []);
  const kinds = {
    private: memories.reduce((sum, { privateBytes }) => sum + privateBytes, 0),
    // Replicas share the pages of the same model.
    file: Math.max(0, ...memories.map(({ fileBytes }) => fileBytes)),
    gpu: memories.flatMap(({ gpus }) => gpus).reduce((sum, { usedBytes }) => sum + usedBytes, 0),
  };
  return Object.entries(kinds).map(([kind, value]) => ({ attributes: { 'aana.memory.kind': kind }, value }));
}
