import { isAbsolute } from 'node:path';
import type * as z from 'zod';
import { AanaError } from '../../core/errors.ts';
import type { LogRing } from '../../core/log/log-ring.ts';
import { type RequestContext, requestContextOf } from '../../core/request-context.ts';
import type { DeploymentHandle, HandleOptionsInput } from '../../deployments/index.ts';
import type { AudioReference } from '../../schemas/index.ts';
import type {
  ApplicationReport,
  CallOperation,
  ControlOperation,
  ControlValue,
  DeploymentMethods,
  operations,
  PluginStatus,
  StreamOperation,
} from '../protocol.ts';

/** What is kept for the process that asks, for as long as it is connected. */
export interface SessionContext {
  /** Gives the name under which it can be dropped. */
  keep(resource: AsyncDisposable): string;
  drop(id: string): Promise<void>;
}

export interface OperationContext extends SessionContext, RequestContext {
  /** Aborts when the caller cancels or goes away. */
  readonly signal: AbortSignal;
  readonly requestId: string;
}

type CheckedArgs<O extends ControlOperation> = z.output<(typeof operations)[O]['args']>;

export type ControlHandlers = {
  readonly [O in CallOperation]: (args: CheckedArgs<O>, context: OperationContext) => Promise<ControlValue<O>>;
} & {
  readonly [O in StreamOperation]: (args: CheckedArgs<O>, context: OperationContext) => AsyncIterable<ControlValue<O>>;
};

/** Exactly one of the two. */
export interface AudioOrigin {
  readonly path?: string | undefined;
  readonly url?: string | undefined;
}

export interface OpenAudioOptions {
  readonly channels: 'mix' | 'separate';
  readonly signal: AbortSignal;
}

/** Decoded audio, as `transcribe` takes it; its files go when it is disposed. */
export interface HeldAudio extends AudioReference, AsyncDisposable {
  /** Seconds. */
  readonly duration: number;
}

/** What an application must give so that other processes of its user can use it. */
export interface ControlledApplication {
  readonly logs: LogRing;
  report(): Promise<ApplicationReport>;
  plugins(): PluginStatus[];
  reloadPlugins(name?: string): Promise<readonly ControlValue<'plugins.reload'>[number][]>;
  describe(): readonly DeploymentMethods[];
  /** Throws `DeploymentNotFound`, which names all deployments. */
  handle(name: string, options?: HandleOptionsInput): DeploymentHandle;
  scaleDeployment(name: string, replicas: number): Promise<void>;
  /** Opens any file that this user can read. */
  openAudio(source: AudioOrigin, options: OpenAudioOptions): Promise<HeldAudio>;
  shutdown(options: { readonly graceMs?: number }): Promise<void>;
}

/** The operations on one application. */
export function controlHandlers(app: ControlledApplication): ControlHandlers {
  return {
    'application.status': () => app.report(),
    'application.logs': ({ lines, follow, deployment }, { signal }) => {
      if (deployment !== undefined) app.handle(deployment); // throws where there is none
      return app.logs.read({ lines, follow, deployment, signal }) as AsyncIterable<ControlValue<'application.logs'>>;
    },
    'application.stop': async ({ grace_s: graceS }) => {
      app.shutdown(graceS === undefined ? {} : { graceMs: graceS * 1000 }).catch(() => {}); // who waits for the application sees it
      return null;
    },
    'plugins.list': async () => app.plugins(),
    'plugins.reload': async ({ name }) => [...(await app.reloadPlugins(name))],
    'deployments.describe': async ({ deployment }) => {
      if (deployment !== undefined) app.handle(deployment); // throws where there is none
      return app.describe().filter(({ name }) => deployment === undefined || name === deployment);
    },
    'deployments.scale': async ({ deployment, replicas }) => {
      await app.scaleDeployment(deployment, replicas);
      return null;
    },
    'deployments.call': async ({ deployment, method, args, retry }, { signal, ...context }) =>
      app.handle(deployment, retry).call(method, args, { ...requestContextOf(context), signal }),
    'deployments.stream': ({ deployment, method, args, retry }, { signal, ...context }) =>
      each(app.handle(deployment, retry).stream(method, args, { ...requestContextOf(context), signal })),
    'audio.open': async ({ source, channels }, { signal, keep }) => {
      if (source.path !== undefined && !isAbsolute(source.path)) {
        throw new AanaError(
          'ValidationError',
          'invalid-input',
          `${source.path} is not an absolute path: the application has another working directory`,
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

/** One by one; the frames put together again what is there at the same time. */
async function* each(batches: AsyncIterable<readonly unknown[]>): AsyncGenerator<unknown, void, undefined> {
  for await (const batch of batches) yield* batch;
}
