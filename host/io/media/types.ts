import type { Logger } from '../../base/core/log/logger.ts';
import type { Telemetry } from '../../base/core/telemetry.ts';
import type { Artifact } from '../../base/schemas/artifact.ts';
import type { AudioReference } from '../../base/schemas/media-references.ts';
import type { GrowingAudio } from '../../base/schemas/growing-audio.ts';
import type { ImageReference } from '../../base/schemas/media-references.ts';
import type { ImageEncoding } from '../../base/schemas/videos/encoding.ts';
import type { FrameFileOptions, FrameOptions, VideoFacts } from '../../base/schemas/videos/frames.ts';
import type { MediaCacheOptions } from './cache/media-cache.ts';
import type { AddressPolicy, Lookup, Network } from '../outgoing/index.ts';

export interface MediaOptions {
  readonly ffmpegPath: string;
  /** Downloads the videos of web pages. Without it, pages are refused. */
  readonly ytDlp?:
    | {
        readonly path: string;
        /** Only the variables that programs need to run are passed on. */
        readonly env: NodeJS.ProcessEnv;
      }
    | undefined;
  /** Directories whose files a client may name by `path`. */
  readonly allowPaths: readonly string[];
  /** Whether URLs may lead to addresses outside of the public internet. */
  readonly allowPrivateUrls: boolean;
  /** Size limit of a file that is fetched from a URL. */
  readonly maxBytes: number;
  /** Duration limit of media that is decoded. */
  readonly maxDurationS: number;
  /** Time limit for fetching one URL, including redirects. */
  readonly fetchTimeoutMs: number;
  /** Time limit of the wait for the next bytes of a URL. Default: 30 s. */
  readonly fetchIdleTimeoutMs?: number | undefined;
  readonly maxRedirects: number;
  /** Directory in which this process makes its folder. */
  readonly tempDir: string;
  /** Keeps files of URLs. Default: none are kept. */
  readonly cache?: Omit<MediaCacheOptions, 'log' | 'onSize'> | undefined;
  readonly log: Logger;
  /** Receives metrics and traces of fetching and decoding. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /** Number of ffmpeg processes at the same time. Default: one for each core. */
  readonly maxProcesses?: number | undefined;
  /** Proxies and certificate authorities of URLs. Default: no proxy, and the authorities of Node. */
  readonly network?: Network | undefined;
  /** Resolves host names. Default: the system. */
  readonly lookup?: Lookup | undefined;
  /** Decides which addresses are public. Default: the registries of special addresses. */
  readonly isPublic?: AddressPolicy | undefined;
}

/** The source of a video: exactly one of `path`, `url` and `content` (the field name of an uploaded file part). */
export interface MediaSource {
  readonly path?: string | null | undefined;
  readonly url?: string | null | undefined;
  readonly content?: string | null | undefined;
  readonly media_id?: string | null | undefined;
  /** Number among the audio tracks, from 0 on. Default: the track that the file marks as default, or the first one. */
  readonly audio_track?: number | null | undefined;
}

/** A file part of the request. It is already on disk and belongs to the part of the host that received it. */
export interface UploadedFile {
  readonly path: string;
  /**
   * The file as an artifact, which a deployment opens with `context.artifactPath`. Missing if its checksum is not
   * known.
   */
  readonly artifact?: Artifact | undefined;
  readonly filename?: string | undefined;
  readonly mimeType?: string | undefined;
  readonly bytes: number;
}

export interface VideoInfo {
  /** Duration in seconds. Missing if the file does not say it. */
  readonly duration?: number;
  readonly hasAudio: boolean;
  readonly hasVideo: boolean;
  /** Title and description of a downloaded video, as the site's page gives them. */
  readonly title?: string;
  readonly description?: string;
}

/** A decoded picture of a video. */
export interface VideoFrame {
  /** Seconds from the start of the file, as a player shows them. */
  readonly time: number;
  /** Its file lies in the scope's folder until it is disposed. */
  readonly image: FrameImage;
}

/** A picture of a video as a file. */
export interface FrameFile {
  /** Seconds from the start of the file, as a player shows them. */
  readonly time: number;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  /** A JPEG or PNG, without transparency. */
  readonly file: Uint8Array;
}

export interface FrameImage extends ImageMedia {
  /** Removes its file. May be called twice. */
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ImageInfo {
  /** Size in pixels. */
  readonly width: number;
  readonly height: number;
  /** Encoding of the file: `png`, `mjpeg`, `gif`, `webp`, `bmp`, `av1` or `hevc`; `rawvideo` for a frame of a video. */
  readonly format: string;
}

/** Options of work on opened media. */
export interface MediaWorkOptions {
  readonly signal?: AbortSignal | undefined;
  /** The place in a distributed trace. */
  readonly traceparent?: string | undefined;
}

/** Options of reading frames. */
export interface FrameWorkOptions extends MediaWorkOptions {
  /** Called with about how many pixels were decoded for the next frame, or to find that there is none. */
  readonly onDecoded?: ((pixels: number) => void) | undefined;
}

/** A fetched and probed image, usable until its scope is disposed. */
export interface ImageMedia {
  readonly info: ImageInfo;
  /** Returns red, green and blue of each pixel of the scaled image, row by row from the top. Do not change them. */
  pixels(size: { readonly width: number; readonly height: number }, options?: MediaWorkOptions): Promise<Uint8Array>;
  /** Returns the file of the image in another form. Throws `InvalidArguments`. */
  encode(encoding: ImageEncoding, options?: MediaWorkOptions): Promise<Uint8Array>;
  /** Returns the image as an argument of `chat`, scaled down if it is very large. Its file is in the scope. */
  forModel(options?: MediaWorkOptions): Promise<ImageReference>;
}

/** How channels become audio: mixed into one, or each separately. */
export type AudioChannels = 'mix' | 'separate';

/** A fetched and probed media file, usable until its scope is disposed. */
export interface VideoMedia {
  readonly mediaId: string;
  readonly info: VideoInfo;
  /**
   * Decodes the audio track, once for each `channels`. Media without audio gives 0 channels and 0 seconds. With `early`
   * it does not wait for the end of decoding that takes a while. The decoder then stops when the signal aborts.
   */
  extractAudio(channels: AudioChannels, options: MediaWorkOptions & { readonly early: true }): Promise<EarlyAudio>;
  extractAudio(channels: AudioChannels, options?: MediaWorkOptions): Promise<AudioMedia>;
  /** All facts about the file. */
  readonly facts: VideoFacts;
  /**
   * Decodes frames, each when it is asked for. Media without a video track have none. Throws `InvalidArguments`,
   * `MediaTooLongException` and `VideoReadingException`, also while frames are read.
   */
  frames(options: FrameOptions, work?: FrameWorkOptions): AsyncGenerator<VideoFrame, void, undefined>;
  /** Decodes frames as {@link frames} does, to files: those that `encode` of their images would return. */
  frameFiles(options: FrameFileOptions, work?: FrameWorkOptions): AsyncGenerator<FrameFile, void, undefined>;
  /**
   * Returns the embedded subtitles of a track in SubRip, with times from the start of the file. `track` counts the
   * tracks of subtitles from 0 on; default: the first one. Throws `VideoReadingException`.
   */
  subtitles(track?: number, work?: MediaWorkOptions): Promise<string>;
}

/** Audio that is decoded or being decoded. Its files lie in the scope's folder. */
export interface EarlyAudio {
  /** Seconds of the longest channel. While the audio is being decoded, it is what the media says. */
  readonly duration: number;
  readonly reference: AudioReference | GrowingAudio;
}

/** Decoded audio. Its files lie in the scope's folder. */
export interface AudioMedia {
  /** Duration of the longest channel in seconds. */
  readonly duration: number;
  readonly reference: AudioReference;
}
