import { isAbsolute } from 'node:path';
import type * as z from 'zod';
import { fail } from '../../../base/core/errors.ts';
import type { RequestContext } from '../../../base/core/request-context.ts';
import type { OnSilence, TableChange } from '../../../inference/deployments/index.ts';
import type { AudioReference } from '../../../base/schemas/index.ts';
import type { CallOperation, ControlOperation, ControlValue, operations, StreamOperation } from '../protocol.ts';

/** Resources that are kept for the calling process while it is connected. */
export interface SessionContext {
  /** Whether the calling process is on another machine. */
  readonly isRemote: boolean;
  /** Tells when the calling process is silent, and when it is heard again. */
  readonly onSilence: OnSilence;
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
  /** What the caller sends meanwhile. Ends at once for an operation that takes nothing. */
  readonly fed: AsyncIterable<unknown>;
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

/** The parts of an application that other processes of its user use with frames. */
export interface ControlledApplication {
  /** See `DeploymentManager.watch`. */
  watchDeployments(
    reports: AsyncIterable<unknown>,
    signal: AbortSignal,
    onSilence: OnSilence,
  ): AsyncIterable<TableChange>;
  /** Opens any file that this user can read. */
  openAudio(source: AudioOrigin, options: OpenAudioOptions): Promise<HeldAudio>;
}

/** Returns the operations on one application. */
export function controlHandlers(app: ControlledApplication): ControlHandlers {
  return {
    'deployments.watch': (_args, { fed, signal, onSilence }) => app.watchDeployments(fed, signal, onSilence),
    'audio.open': async ({ source, channels }, { signal, keep, isRemote }) => {
      if (source.path !== undefined && isRemote)
        throw fail(
          'ValidationError',
          'a path names a file of the machine of the application; another machine gives the URL of an audio',
        );
      if (source.path !== undefined && !isAbsolute(source.path)) {
        throw fail(
          'ValidationError',
          `${source.path} is not an absolute path, which is needed because the application has another ` +
            `working directory`,
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
