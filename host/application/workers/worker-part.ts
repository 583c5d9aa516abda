import type { LogLevels } from '../../base/core/log/log-levels.ts';
import type { LogRing } from '../../base/core/log/log-ring.ts';
import type { LogRecord } from '../../base/core/log/logger.ts';
import type { DeploymentOptionsInput } from '../../inference/deployments/index.ts';
import type { Services } from '../services.ts';
import type { WorkerPart, WorkerRole } from './link.ts';
import type { PeerNotifications } from './peer-notifications.ts';
import type { HostDrain } from '../start/host-drain.ts';
import { WorkerDeployments } from './worker-deployments.ts';

export interface WorkerPartOptions extends Pick<WorkerPart, 'listen' | 'stop'> {
  readonly role: WorkerRole;
  readonly services: Services;
  readonly peers: PeerNotifications;
  readonly logs: LogRing;
  readonly logLevels: LogLevels;
  readonly drain: HostDrain;
  readonly metricsText: ((format: 'prometheus' | 'openmetrics') => string) | undefined;
}

/** Log lines go to the controller together, because a message costs about as much as a line. */
const LOG_EVERY_MS = 100;

/** Connects an application to the controller of which its process is a worker. */
export function joinController(options: WorkerPartOptions): void {
  const { role, services, peers, logs, logLevels, drain, metricsText, listen, stop } = options;
  peers.send = (message) => role.tell({ type: 'notified', message });
  sendLogs(role, logs);
  role.part = {
    ...{ listen, stop },
    notified: (message) => peers.receive(message),
    apply: ({ config, levels, isDraining }) => {
      drain.set(isDraining);
      logLevels.set(levels);
      for (const take of Object.values(services.liveSections)) take(config);
      const { deployments } = services;
      if (!(deployments instanceof WorkerDeployments)) return;
      for (const [name, entry] of Object.entries(config.deployments))
        deployments.configure(name, services.bindDeployment(name, structuredClone(entry) as DeploymentOptionsInput));
    },
    answers: {
      metrics: async ({ format }) => metricsText?.(format),
      running: async () => drain.running(),
      reload: ({ name }) => services.pluginSet.reload(name),
    },
  };
}

function sendLogs(role: WorkerRole, logs: LogRing): void {
  let records: LogRecord[] = [];
  const send = (): void => {
    if (records.length > 0) role.tell({ type: 'logged', records });
    records = [];
  };
  logs.onRecord((record) => {
    if (records.length === 0) setTimeout(send, LOG_EVERY_MS).unref();
    records.push(record.whole());
  });
  process.once('exit', send);
}
