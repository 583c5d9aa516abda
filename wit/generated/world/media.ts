// Generated from wit/world.wit by `npm run generate`; do not edit.
import type { Base64 } from './types.ts';

/** The source of a video or an image: exactly one of `path`, `url` and `content`. */
export interface Source {
  readonly path?: string | undefined;
  readonly url?: string | undefined;
  /** The field name of an uploaded file part. */
  readonly content?: string | undefined;
  readonly mediaId?: string | undefined;
}

/** Facts about a video. */
export interface VideoInfo {
  /** Seconds; absent when the file does not say. */
  readonly duration?: number | undefined;
  readonly hasAudio: boolean;
  readonly hasVideo: boolean;
}

/** The description of a video by its site. It is text of strangers. */
export interface VideoMetadata {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
}

/** How channels become audio: one mix, or each channel separately. */
export type Channels = 'mix' | 'separate';

/** Decoded audio: mono 16 kHz, one or more channels, held by the host. */
export interface Audio extends Disposable {
  /**
   * Seconds of the longest channel; 0 when the media has no audio track. While long audio is decoded, what the media
   * says.
   */
  duration(): number;
}

/** A new audio as it crosses from the host: its handle, and the facts about it. */
export interface AudioHandle {
  readonly handle: number;
  readonly duration: number;
}

/** A fetched and probed media file, held by the host until the invocation ends. */
export interface Video extends Disposable {
  info(): VideoInfo;
  /** Title and description from the page of the video. Empty for a file, and where the page has none. */
  metadata(): VideoMetadata;
  /** Decodes the audio track. Media without an audio track give audio of 0 seconds. */
  extractAudio(channels: Channels): Audio;
}

/** A new video as it crosses from the host: its handle, and the facts about it. */
export interface VideoHandle {
  readonly handle: number;
  readonly info: VideoInfo;
  readonly metadata: VideoMetadata;
}

/** Facts about an image. */
export interface ImageInfo {
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  /** The encoding of the file, such as `png` or `mjpeg` (JPEG). */
  readonly format: string;
}

/** A fetched and probed image, held by the host until the invocation ends. */
export interface Image extends Disposable {
  info(): ImageInfo;
  /**
   * Decodes the image and scales it to this size. Returns the red, green and blue value of each pixel, row by row
   * from the top, without transparency. The result has at most 4,194,304 pixels, and the image at most 67,108,864.
   */
  pixels(width: number, height: number): Uint8Array;
  /** Returns the same as `pixels`. In base64 it takes a fifth of the time and a tenth of the memory. */
  pixelsBase64(width: number, height: number): Base64;
}

/** A new image as it crosses from the host: its handle, and the facts about it. */
export interface ImageHandle {
  readonly handle: number;
  readonly info: ImageInfo;
}

/** The interface `media` as a guest sees it. A function that fails throws the record `error`. */
export interface Media {
  readonly Video: {
    /** Fetches (or finds) and probes the media. */
    open(source: Source): Video;
  };
  readonly Image: {
    /** Fetches (or finds) and probes the image. */
    open(source: Source): Image;
    /**
     * Probes the file of an image that the guest has, such as a PNG of at most 2,700,000 bytes. `decode-base64` takes
     * larger files.
     */
    decode(file: Uint8Array): Image;
    /** Does the same as `decode` for a file of at most 16,777,216 bytes. */
    decodeBase64(file: Base64): Image;
  };
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface MediaCalls {
  'media.open': { readonly args: readonly [source: Source]; readonly value: VideoHandle };
  'media.extract-audio': { readonly args: readonly [video: number, channels: Channels]; readonly value: AudioHandle };
  'media.open-image': { readonly args: readonly [source: Source]; readonly value: ImageHandle };
  'media.decode': { readonly args: readonly [file: Uint8Array]; readonly value: ImageHandle };
  'media.image-pixels': { readonly args: readonly [image: number, width: number, height: number];
    readonly value: Uint8Array };
  'media.decode-base64': { readonly args: readonly [file: Base64]; readonly value: ImageHandle };
  'media.pixels-base64': { readonly args: readonly [image: number, width: number, height: number];
    readonly value: Base64 };
}
