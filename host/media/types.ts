import type { Logger } from '../core/log/logger.ts';
import type { Telemetry } from '../core/telemetry.ts';
import type { Artifact } from '../schemas/artifact.ts';
import type { AudioReference } from '../schemas/asr.ts';
import type { AddressPolicy, Lookup, Network } from '../outgoing/index.ts';

export interface MediaOptions {
  readonly ffmpegPath: string;
  /** Downloads the videos of web pages; without it a page is refused. */
  readonly ytDlp?:
    | { readonly path: string; /** Of which it gets what programs need to run. */ readonly env: NodeJS.ProcessEnv }
    | undefined;
  /** Directories whose files a client may name by `path`. */
  readonly allowPaths: readonly string[];
  /** Whether URLs may lead to addresses that are not on the public internet. */
  readonly allowPrivateUrls: boolean;
  /** Largest file that is fetched from a URL. */
  readonly maxBytes: number;
  /** Longest media that is decoded. */
  readonly maxDurationS: number;
  /** Time for fetching one URL, redirects included. */
  readonly fetchTimeoutMs: number;
  /** Longest wait for the next bytes of a URL. Default 30 s. */
  readonly fetchIdleTimeoutMs?: number | undefined;
  readonly maxRedirects: number;
  /** Where the folder of this process is made. */
  readonly tempDir: string;
  readonly log: Logger;
  /** Where fetching and decoding is reported. Default: nowhere. */
  readonly telemetry?: Telemetry | undefined;
  /** ffmpeg processes that run at the same time. Default: one for each core. */
  readonly maxProcesses?: number | undefined;
  /** Proxies and certificate authorities of URLs. Default: no proxy, and the authorities of Node. */
  readonly network?: Network | undefined;
  /** Resolves host names instead of the system. */
  readonly lookup?: Lookup | undefined;
  /** Says which addresses are public, instead of the registries of special addresses. */
  readonly isPublic?: AddressPolicy | undefined;
}

/** Where a video comes from: exactly one of `path`, `url` and `content` (the field name of an uploaded file part). */
export interface MediaSource {
  readonly path?: string | null | undefined;
  readonly url?: string | null | undefined;
  readonly content?: string | null | undefined;
  readonly media_id?: string | null | undefined;
}

/** A file part of the request, already on disk and owned by whoever received it. */
export interface UploadedFile {
  readonly path: string;
  /**
   * Names the file for deployments, which open it with `context.artifactPath`. Absent in files of tasks that an older
   * version kept.
   */
  readonly artifact?: Artifact | undefined;
  readonly filename?: string | undefined;
  readonly mimeType?: string | undefined;
  readonly bytes: number;
}

export interface VideoInfo {
  /** Seconds; absent when the file does not say. */
  readonly duration?: number;
  readonly hasAudio: boolean;
  readonly hasVideo: boolean;
  /** What a site's page says of the video that was downloaded from it. */
  readonly title?: string;
  readonly description?: string;
}

export interface ImageInfo {
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  /** How the file is encoded: `png`, `mjpeg`, `gif`, `webp`, `bmp`. */
  readonly format: string;
}

/** Work on a media that was opened. */
export interface MediaWorkOptions {
  readonly signal?: AbortSignal | undefined;
  /** The place in a distributed trace. */
  readonly traceparent?: string | undefined;
}

/** A fetched and probed image; usable until its scope is disposed. */
export interface ImageMedia {
  readonly info: ImageInfo;
  /** Red, green and blue of each pixel of the image in this size, row by row from the top. */
  pixels(size: { readonly width: number; readonly height: number }, options?: MediaWorkOptions): Promise<Uint8Array>;
}

/** How channels become audio: one mix, or each by itself. */
export type AudioChannels = 'mix' | 'separate';

/** A fetched and probed media file; usable until its scope is disposed. */
export interface VideoMedia {
  readonly mediaId: string;
  readonly info: VideoInfo;
  /** Decodes the audio track, once for each way. A media without one gives 0 channels and 0 seconds. */
  extractAudio(channels: AudioChannels, options?: MediaWorkOptions): Promise<AudioMedia>;
}

/** Decoded audio; its files lie in the scope's folder. */
export interface AudioMedia {
  /** Seconds of the longest channel. */
  readonly duration: number;
  readonly reference: AudioReference;
}
