import type { Logger } from '../core/logger.ts';
import type { AudioReference } from '../schemas/asr.ts';

/** What the rest of the host gives to plugins. */
export interface PluginPorts {
  readonly deployments: { handle(name: string): DeploymentPort };
  openMediaScope(): MediaScopePort;
  readonly log: Logger;
}

/** A deployed model, as invocations use it. */
export interface DeploymentPort {
  call(method: string, args: Record<string, unknown>, options: { signal: AbortSignal; requestId: string }): Promise<unknown>;
  /** Batches of values: those since the last batch. */
  stream(method: string, args: Record<string, unknown>, options: { signal: AbortSignal; requestId: string }): AsyncIterable<readonly unknown[]>;
}

/** The media of one invocation; disposal removes its files. */
export interface MediaScopePort {
  open(source: MediaSource, options: { files: ReadonlyMap<string, UploadedFile>; signal: AbortSignal }): Promise<VideoPort>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Exactly one of `path`, `url` and `content`. */
export interface MediaSource {
  readonly path?: string;
  readonly url?: string;
  /** Field name of an uploaded part. */
  readonly content?: string;
  readonly media_id?: string;
}

export interface VideoInfo {
  /** Seconds. */
  readonly duration?: number | undefined;
  readonly hasAudio: boolean;
  readonly hasVideo: boolean;
}

export interface VideoPort {
  readonly info: VideoInfo;
  extractAudio(channels: 'mix' | 'separate', options: { signal: AbortSignal }): Promise<AudioPort>;
}

export interface AudioPort {
  /** Seconds. */
  readonly duration: number;
  readonly reference: AudioReference;
}

/** A file part of a request, stored by the host. */
export interface UploadedFile {
  readonly path: string;
  readonly filename?: string | undefined;
  readonly mimeType?: string | undefined;
  readonly bytes: number;
}
