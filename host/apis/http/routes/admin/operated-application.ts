import type { AlertsReport } from '../../../../base/alerts/index.ts';
import type { LogLevels } from '../../../../base/core/log/log-levels.ts';
import type { LogRing } from '../../../../base/core/log/log-ring.ts';
import type { AnswerOf } from '../../../openapi/index.ts';
import type { LoadHistory, Profiler } from '../../../../base/telemetry/index.ts';
import type { OWNER_ROUTES } from '../owner/owner-definitions.ts';
import type { ApplyEvent, ChangePlan } from './change-definitions.ts';
import type { ModelOperations } from './model-routes.ts';
import type { ApplicationState, OPERATION_ROUTES } from './operation-definitions.ts';
import type { ApplicationReport, DeploymentMethods, EndpointReport, PluginStatus } from './values/reports.ts';

/** A configuration file as a text, or the configuration that the application had before it was changed last. */
export type GivenConfiguration =
  | {
      /** Path of the file, for errors and for relative paths in it. Default: the file of the application. */
      readonly file?: string | undefined;
      readonly content: string;
    }
  | { readonly previous: true };

/** The running application, as operators see and change it. */
export interface OperatedApplication {
  readonly logs: LogRing;
  /** The lowest levels of lines that are written. */
  readonly logLevels: LogLevels;
  /** Profiles of the host. */
  readonly profiler: Profiler;
  report(): Promise<ApplicationReport>;
  /** The alerts of the host and its rules. */
  alerts(): AlertsReport;
  endpoints(): EndpointReport;
  plugins(): PluginStatus[];
  reloadPlugins(
    name?: string,
  ): Promise<AnswerOf<(typeof OPERATION_ROUTES.reloadPlugins.answers)[200]['schema']>['plugins']>;
  describe(): readonly DeploymentMethods[];
  /** Throws `DeploymentNotFound`, which names all deployments. */
  handle(name: string): unknown;
  /** Lets all processes take no new requests and tasks, or take them again. Returns what runs. */
  drain(isDraining: boolean): Promise<ApplicationReport['draining']>;
  /** `by` says who changes the deployment, for its history. */
  scaleDeployment(name: string, replicas: number, by: string): Promise<void>;
  loadDeployment(name: string, by: string): Promise<void>;
  unloadDeployment(name: string, options: { readonly graceMs?: number | undefined }, by: string): Promise<void>;
  deploymentHistory(query: {
    readonly limit: number;
    readonly deployment?: string | undefined;
  }): Promise<AnswerOf<(typeof OPERATION_ROUTES.deploymentHistory.answers)[200]['schema']>>;
  /** Throws `ConfigError`, `ValidationError` or `NoPreviousConfiguration`. */
  planChanges(given: GivenConfiguration): ChangePlan;
  /** Throws like `planChanges`, and `ChangesRefused`, `PlanChanged`, `ChangesRunning` or `NotReady`. */
  applyChanges(
    given: GivenConfiguration,
    planId: string | undefined,
    by: string,
    signal: AbortSignal,
  ): AsyncGenerator<ApplyEvent, void, undefined>;
  /** What the application knows about itself, without secrets and without contents of requests. */
  diagnosis(): Promise<AnswerOf<(typeof OWNER_ROUTES.diagnosis.answers)[200]['schema']>>;
  /** The address that opens the dashboard, with its token. Undefined without a dashboard. */
  dashboardUrl(): string | undefined;
  /** Returns the deployments that load the file of a model. */
  usersOfFile(file: string): string[];
  shutdown(options: { readonly graceMs?: number }): Promise<void>;
}

/** The running application with what is known about it. */
export interface Operations {
  readonly application: OperatedApplication;
  /** Returns the values of all keys of the configuration, without secrets. */
  readonly configuration: () => AnswerOf<(typeof OPERATION_ROUTES.configuration.answers)[200]['schema']>['values'];
  /** Absent without metrics. */
  readonly load: Pick<LoadHistory, 'list'> | undefined;
  readonly models: ModelOperations;
  /** Returns numbers that tell whether something has changed. */
  readonly revisions: () => ApplicationState['changes'];
}
