import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AanaApp } from '../app.ts';
import type { Alerts } from '../../base/alerts/index.ts';
import type { ControlledApplication } from '../../apis/control/index.ts';
import {
  controlHandlers,
  type ControlServer,
  type RemoteControl,
  startControl,
} from '../../apis/control/server/index.ts';
import type { LogLevels } from '../../base/core/log/log-levels.ts';
import type { ConfigurationChanges } from '../changes/configuration-changes.ts';
import type { Controller } from '../changes/controller.ts';
import type { OperatorChanges } from '../changes/operator-changes.ts';
import type { LogRing } from '../../base/core/log/log-ring.ts';
import type { Logger, LogRecord } from '../../base/core/log/logger.ts';
import { packageVersion } from '../../base/core/package-root.ts';
import type { DeploymentManager, HandleOptionsInput } from '../../inference/deployments/index.ts';
import type {
  ApplicationReport,
  DeploymentMethods,
  HttpServerLimits,
  OperatedApplication,
} from '../../apis/http/index.ts';
import type { HostDrain } from '../start/host-drain.ts';
import type { ApplicationWorkers } from '../workers/application-workers.ts';
import { deploymentReports } from './deployment-reports.ts';
import { describeConfig, redactorOf } from '../../base/config/index.ts';
import { type KeptTraces, Profiler, traceReport } from '../../base/telemetry/index.ts';

export interface OpenControlOptions {
  readonly runtimeDir: string;
  readonly application: ControlledApplication & Pick<OperatedApplication, 'logs'>;
  /** Returns the request listener for the control socket. */
  readonly callback: () => (req: IncomingMessage, res: ServerResponse) => void;
  readonly limits: HttpServerLimits;
  readonly log: Logger;
  /** Address of the server. */
  readonly at: { readonly url: string; readonly host: string; readonly port: number };
  /** Where members of a cluster reach the application from other machines. */
  readonly remote?: RemoteControl | undefined;
}

/**
 * Opens the control socket, through which other processes of this user reach the application. The application also
 * serves without it, unless other machines must reach it. Closing it also ends followed logs.
 */
export async function openControl(options: OpenControlOptions): Promise<ControlServer | undefined> {
  const { runtimeDir: dir, application, callback, limits, log, at, remote } = options;
  try {
    const control = await startControl({
      dir,
      at,
      version: packageVersion(),
      callback: callback(),
      limits,
      handlers: controlHandlers(application),
      log,
      remote,
    });
    return {
      address: control.address,
      close: () => {
        application.logs.close();
        return control.close();
      },
    };
  } catch (error) {
    if (remote) throw error;
    log.warn('commands cannot reach this application', { dir, error });
    return undefined;
  }
}

export interface ControlledOptions {
  readonly app: AanaApp;
  /** Throws `NotTheController` in a worker. */
  readonly deployments: () => DeploymentManager;
  readonly changes: ConfigurationChanges;
  readonly operator: OperatorChanges;
  readonly control: Controller;
  readonly drain: HostDrain;
  readonly workers: Pick<ApplicationWorkers, 'applySettings' | 'list' | 'running'>;
  readonly alerts: Alerts;
  /** The latest log lines. */
  readonly logs: LogRing;
  readonly logLevels: LogLevels;
  /** The last failed and slow requests. */
  readonly traces: KeptTraces | undefined;
  readonly endpoints: OperatedApplication['endpoints'];
  /** Returns the metrics for Prometheus. Undefined without metrics. */
  readonly metrics: (() => string) | undefined;
  /** The environment of the host, whose secrets are left out of what it reports. */
  readonly env: NodeJS.ProcessEnv;
  /** Returns further secrets, which are left out as well. */
  readonly secrets: () => readonly string[];
}

const add = (a: number, b: number): number => a + b;

/** Latest log lines in a diagnosis. */
const DIAGNOSIS_LINES = 1000;

/** Returns the parts of an application that commands and the dashboard use. */
export function controlledApplication({
  app,
  deployments,
  changes,
  operator,
  control,
  drain,
  workers,
  alerts,
  logs,
  logLevels,
  traces,
  endpoints,
  metrics,
  env,
  secrets,
}: ControlledOptions): ControlledApplication & OperatedApplication {
  const running = async (): Promise<ApplicationReport['draining']> => {
    if (!drain.isDraining) return null;
    const work = [drain.running(), ...(await workers.running())];
    const sets = Object.values(deployments().status());
    return {
      requests: work.map(({ requests }) => requests).reduce(add, 0),
      tasks: work.map(({ tasks }) => tasks).reduce(add, 0),
      calls: sets.flatMap(({ queued, replicas }) => [queued, ...replicas.map(({ ongoing }) => ongoing)]).reduce(add, 0),
    };
  };
  return {
    logs,
    logLevels,
    endpoints,
    profiler: new Profiler(),
    diagnosis: async () => {
      const records: LogRecord[] = [];
      for await (const record of logs.read({ lines: DIAGNOSIS_LINES, follow: false })) records.push(record);
      return redactorOf(
        app.config,
        env,
        secrets(),
      )({
        configuration: describeConfig(app.config),
        // With `log.content`, fields may have texts of requests.
        logs: app.config.log.content ? records.map((record) => ({ ...record, fields: {} })) : records,
        metrics: metrics?.() ?? null,
        traces: traces?.list().map(traceReport) ?? [],
      });
    },
    describe: () =>
      Object.entries(deployments().describe()).map(([name, { type, methods }]) => ({
        name,
        type,
        methods: methods as DeploymentMethods['methods'],
      })),
    report: async () => {
      const { status, message, deployments: states } = app.status();
      const reports = await deploymentReports(deployments().status());
      return {
        name: app.name,
        version: packageVersion(),
        url: app.url ?? '',
        pid: process.pid,
        workers: workers.list(),
        status,
        phase: states['app']?.status ?? '',
        message,
        deployments: reports.map((report) => ({ ...report, ...states[report.name] })),
        devices: deployments().devices(),
        controller: {
          epoch: control.epoch ?? null,
          superseded: control.superseded()?.message ?? null,
        },
        draining: await running(),
      };
    },
    alerts: () => alerts.report(),
    usersOfFile: (file) => deployments().usersOf(file),
    dashboardUrl: () => app.dashboardUrl,
    plugins: () => app.plugins(),
    reloadPlugins: (name) => app.reloadPlugins(name),
    handle: (name: string, retry?: HandleOptionsInput) => deployments().handle(name, retry),
    watchDeployments: (reports, signal, onSilence) => deployments().watch(reports, signal, onSilence),
    drain: (isDraining) => {
      drain.set(isDraining);
      deployments().drain(isDraining);
      workers.applySettings();
      return running();
    },
    scaleDeployment: (name, replicas, by) => operator.scale(name, replicas, by),
    loadDeployment: (name, by) => operator.load(name, by),
    unloadDeployment: (name, options, by) => operator.unload(name, options, by),
    deploymentHistory: (query) => operator.history(query),
    planChanges: (given) => changes.plan(given),
    applyChanges: (given, planId, by, signal) => changes.apply(given, planId, by, signal),
    openAudio: (source, opening) => app.openAudio(source, { ...opening, allowPaths: ['/'] }),
    shutdown: (ending) => app.shutdown(ending),
  };
}
