// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/media@0.1.0' {
  export type Error = import('aana:host/types@0.1.0').Error;
  /**
   * Where a video or an image comes from: exactly one of `path`, `url` and `content`.
   */
  export interface Source {
    path?: string,
    url?: string,
    /**
     * The field name of an uploaded file part.
     */
    content?: string,
    mediaId?: string,
  }
  /**
   * What a video holds.
   */
  export interface VideoInfo {
    /**
     * Seconds; absent when the file does not say.
     */
    duration?: number,
    hasAudio: boolean,
    hasVideo: boolean,
  }
  /**
   * What a site says of a video. Strangers wrote it.
   */
  export interface VideoMetadata {
    title?: string,
    description?: string,
  }
  /**
   * How channels become audio: one mix, or each by itself.
   * # Variants
   *
   * ## `"mix"`
   *
   * ## `"separate"`
   */
  export type Channels = 'mix' | 'separate';
  /**
   * What an image is.
   */
  export interface ImageInfo {
    /**
     * Pixels.
     */
    width: number,
    height: number,
    /**
     * How the file is encoded, such as `png` or `mjpeg` (JPEG).
     */
    format: string,
  }

  export class Audio implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * Seconds of the longest channel; 0 when the media has no audio track.
    */
    duration(): number;
    [Symbol.dispose](): void;
  }

  export class Image implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * Fetches (or finds) and probes the image.
    */
    static open(source: Source): Image;
    info(): ImageInfo;
    /**
    * Decodes the image and scales it to this size: red, green and blue of each pixel, row by row from the top, without transparency.
    * At most 4,194,304 pixels, and of an image of at most 67,108,864.
    */
    pixels(width: number, height: number): Uint8Array;
    [Symbol.dispose](): void;
  }

  export class Video implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * Fetches (or finds) and probes the media.
    */
    static open(source: Source): Video;
    info(): VideoInfo;
    /**
    * What the page says that the video was downloaded from; nothing for a file, and where a page says nothing.
    */
    metadata(): VideoMetadata;
    /**
    * Decodes the audio track. A media without one gives audio of 0 seconds.
    */
    extractAudio(channels: Channels): Audio;
    [Symbol.dispose](): void;
  }
}
