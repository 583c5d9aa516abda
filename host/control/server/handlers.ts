import { isAbsolute } from 'node:path';
import type * as z from 'zod';
import type { AlertsReport } from '../../alerts/index.ts';
import { flattened } from '../../core/async/async-values.ts';
import { fail } from '../../core/errors.ts';
import type { LogLevels } from '../../core/log/log-levels.ts';
import type { LogRing } from '../../core/log/log-ring.ts';
import { type RequestContext, requestContextOf } from '../../core/request-context.ts';
import type { CallOptions, DeploymentHandle, HandleOptionsInput } from '../../deployments/index.ts';
import type { AudioReference } from '../../schemas/index.ts';
import { type KeptTraces, type Profiler, traceReport, traceSummary } from '../../telemetry/index.ts';
import type {
  ApplicationReport,
  ApplyEvent,
  CallOperation,
  ChangePlan,
  ControlOperation,
  ControlValue,
  DeploymentMethods,
  operations,
  PluginStatus,
  StreamOperation,
} from '../protocol.ts';
import { type ControlledTasks, type ControlledWebhooks, workHandlers } from './work-handlers.ts';

/** Resources that are kept for the calling process while it is connected. */
export interface SessionContext {
  /** Keeps a resource and returns its id. */
  keep(resource: AsyncDisposable): string;
  drop(id: string): Promise<void>;
}

export interface OperationContext extends SessionContext, RequestContext {
  /** Aborted when the caller cancels or disconnects. */
  readonly signal: AbortSignal;
  readonly requestId: string;
  /** Reports the part of the work that is done, from 0 to 1. Absent when the caller does not ask for it. */
  readonly progress?: ((fraction: number) => void) | undefined;
}

type CheckedArgs<O extends ControlOperation> = z.output<(typeof operations)[O]['args']>;

export type ControlHandlers = {
  readonly [O in CallOperation]: (args: CheckedArgs<O>, context: OperationContext) => Promise<ControlValue<O>>;
} & {
  readonly [O in StreamOperation]: (
    args: CheckedArgs<O>,
    context: OperationContext,
  ) => AsyncIterable<ControlValue<O>, unknown>;
};

/** Origin of audio: exactly one of path and URL. */
export interface AudioOrigin {
  readonly path?: string | undefined;
  readonly url?: string | undefined;
}

export interface OpenAudioOptions {
  readonly channels: 'mix' | 'separate';
  readonly signal: AbortSignal;
}

/** Decoded audio for `transcribe`. Its files are removed when it is disposed. */
export interface HeldAudio extends AudioReference, AsyncDisposable {
  /** Duration in seconds. */
  readonly duration: number;
}

/** A configuration file as a text, or the configuration that the application had before it was changed last. */
export type GivenConfiguration =
  | {
      /** Path of the file, for errors and for relative paths in it. Default: the file of the application. */
      readonly file?: string | undefined;
      readonly content: string;
    }
  | { readonly previous: true };

/** The parts of an application that other processes of its user can use. */
export interface ControlledApplication {
  readonly logs: LogRing;
  /** The lowest levels of lines that are written. */
  readonly logLevels: LogLevels;
  /** The last failed and slow requests. Undefined if none are kept. */
  readonly traces?: KeptTraces | undefined;
  /** Profiles of the host. */
  readonly profiler: Profiler;
  /** The tasks of all users. Undefined if the queue is off. */
  readonly tasks?: ControlledTasks | undefined;
  /** The webhooks of all users. Undefined if the queue is off. */
  readonly webhooks?: ControlledWebhooks | undefined;
  report(): Promise<ApplicationReport>;
  /** The alerts of the host and its rules. */
  alerts(): AlertsReport;
  /** What the application knows about itself, without secrets and without contents of requests. */
  diagnosis(): Promise<ControlValue<'application.diagnosis'>>;
  /** The address that opens the dashboard, with its token. Undefined without a dashboard. */
  dashboardUrl(): string | undefined;
  /** Returns the deployments that load the file of a model. */
  usersOfFile(file: string): string[];
  endpoints(): ControlValue<'endpoints.list'>;
  plugins(): PluginStatus[];
  reloadPlugins(name?: string): Promise<readonly ControlValue<'plugins.reload'>[number][]>;
  describe(): readonly DeploymentMethods[];
  /** Throws `DeploymentNotFound`, which names all deployments. */
  handle(name: string, options?: HandleOptionsInput): DeploymentHandle;
  scaleDeployment(name: string, replicas: number): Promise<void>;
  loadDeployment(name: string): Promise<void>;
  unloadDeployment(name: string, options: { readonly graceMs?: number | undefined }): Promise<void>;
  /** Throws `ConfigError`, `ValidationError` or `NoPreviousConfiguration`. */
  planChanges(given: GivenConfiguration): ChangePlan;
  /** Throws like `planChanges`, and `ChangesRefused`, `PlanChanged`, `ChangesRunning` or `NotReady`. */
  applyChanges(
    given: GivenConfiguration,
    planId: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<ApplyEvent, void, undefined>;
  /** Opens any file that this user can read. */
  openAudio(source: AudioOrigin, options: OpenAudioOptions): Promise<HeldAudio>;
  shutdown(options: { readonly graceMs?: number }): Promise<void>;
}

/** Returns the operations on one application. */
export function controlHandlers(app: ControlledApplication): ControlHandlers {
  return {
    'application.status': () => app.report(),
    'alerts.list': async () => app.alerts(),
    'application.dashboard': async () => ({ url: app.dashboardUrl() ?? null }),
    'application.logs': (wanted, { signal }) => {
      if (wanted.deployment !== undefined) app.handle(wanted.deployment); // throws if it is unknown
      return app.logs.read({ ...wanted, signal }) as AsyncIterable<ControlValue<'application.logs'>>;
    },
    'application.log-levels': async (change) => {
      app.logLevels.change(change);
      return app.logLevels.list();
    },
    'application.stop': async ({ grace_s: graceS }) => {
      app.shutdown(graceS === undefined ? {} : { graceMs: graceS * 1000 }).catch(() => {}); // reported by `app.stopped`
      return null;
    },
    'traces.list': async () => app.traces?.list().map(traceSummary) ?? [],
    'traces.get': async ({ trace_id: id }) => app.traces?.find(id).map(traceReport) ?? [],
    'models.users': async ({ files }) => files.map((file) => app.usersOfFile(file)),
    'application.diagnosis': () => app.diagnosis(),
    'profile.cpu': ({ seconds }, { signal }) => app.profiler.cpu(seconds, signal),
    'profile.heap': (_args, { signal }) => app.profiler.heap(signal),
    'endpoints.list': async () => app.endpoints(),
    'plugins.list': async () => app.plugins(),
    'plugins.reload': async ({ name }) => [...(await app.reloadPlugins(name))],
    'deployments.describe': async ({ deployment }) => {
      if (deployment !== undefined) app.handle(deployment); // throws if it is unknown
      return app.describe().filter(({ name }) => deployment === undefined || name === deployment);
    },
    'deployments.scale': async ({ deployment, replicas }) => {
      await app.scaleDeployment(deployment, replicas);
      return null;
    },
    'deployments.load': async ({ deployment }) => {
      await app.loadDeployment(deployment);
      return null;
    },
    'deployments.unload': async ({ deployment, grace_s: graceS }) => {
      await app.unloadDeployment(deployment, { graceMs: graceS === undefined ? undefined : graceS * 1000 });
      return null;
    },
    ...workHandlers(app),
    'configuration.plan': async ({ given }) => app.planChanges(given),
    'configuration.apply': ({ plan_id: planId, given }, { signal }) => app.applyChanges(given, planId, signal),
    'deployments.call': async ({ deployment, method, args, retry }, context) =>
      app.handle(deployment, retry).call(method, args, callOptionsOf(context)),
    'deployments.stream': ({ deployment, method, args, retry }, context) =>
      flattened(app.handle(deployment, retry).stream(method, args, callOptionsOf(context))),
    'audio.open': async ({ source, channels }, { signal, keep }) => {
      if (source.path !== undefined && !isAbsolute(source.path)) {
        throw fail(
          'ValidationError',
          `${source.path} is not an absolute path, which is needed because the application has another working directory`,
        );
      }
      const audio = await app.openAudio(source, { channels, signal });
      return {
        id: keep(audio),
        duration: audio.duration,
        reference: { channels: audio.channels, sample_rate: audio.sample_rate },
      };
    },
    'audio.close': async ({ id }, { drop }) => {
      await drop(id);
      return null;
    },
  };
}

/** Returns the options for a call of a deployment that a client asks for. */
function callOptionsOf({ signal, progress, ...context }: OperationContext): CallOptions {
  return {
    ...requestContextOf(context),
    signal,
    onProgress:
      progress &&
      (({ stage, fraction }) => {
        if (stage === 'running' && fraction !== undefined) progress(fraction);
      }),
  };
}
