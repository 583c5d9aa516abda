// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/media@0.1.0' {
  export type Base64 = import('aana:host/types@0.1.0').Base64;
  export type Error = import('aana:host/types@0.1.0').Error;
  /**
   * The source of a video or an image: exactly one of `path`, `url` and `content`.
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
   * Facts about a video.
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
   * The description of a video by its site. It is text of strangers.
   */
  export interface VideoMetadata {
    title?: string,
    description?: string,
  }
  /**
   * How channels become audio: one mix, or each channel separately.
   * # Variants
   *
   * ## `"mix"`
   *
   * ## `"separate"`
   */
  export type Channels = 'mix' | 'separate';
  /**
   * Facts about an image.
   */
  export interface ImageInfo {
    /**
     * Pixels.
     */
    width: number,
    height: number,
    /**
     * The encoding of the file, such as `png` or `mjpeg` (JPEG). `rawvideo` for a frame of a video that is no file.
     */
    format: string,
  }

  export class Audio implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * Seconds of the longest channel; 0 when the media has no audio track. While long audio is decoded, what the media
    * says.
    */
    duration(): number;
    [Symbol.dispose](): void;
  }

  export class Frames implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * Decodes the next frame. Returns its time: seconds from the start of the file, as a player shows them. None at
    * the end.
    */
    next(): number | undefined;
    /**
    * The frame that `next` decoded last, which has at most 4,194,304 pixels. A frame that is not taken in this way is
    * forgotten. Fails with `InvalidHandle` when there is none.
    */
    image(): Image;
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
    /**
    * Probes the file of an image that the guest has, such as a PNG of at most 2,700,000 bytes. `decode-base64` takes
    * larger files.
    */
    static decode(file: Uint8Array): Image;
    info(): ImageInfo;
    /**
    * Decodes the image and scales it to this size. Returns the red, green and blue value of each pixel, row by row
    * from the top, without transparency. The result has at most 4,194,304 pixels, and the image at most 67,108,864.
    */
    pixels(width: number, height: number): Uint8Array;
    /**
    * Does the same as `decode` for a file of at most 16,777,216 bytes.
    */
    static decodeBase64(file: Base64): Image;
    /**
    * Returns the file of the image in another form, without transparency. `options` is a JSON object with `format`
    * (`jpeg` or `png`), and with `quality` of a JPEG (1 to 100, default 85), `max_width` and `max_height`. An image
    * of more than 4,194,304 pixels is scaled down.
    */
    encode(options: string): Base64;
    /**
    * Returns the same as `pixels`. In base64 it takes a fifth of the time and a tenth of the memory.
    */
    pixelsBase64(width: number, height: number): Base64;
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
    * Title and description from the page of the video. Empty for a file, and where the page has none.
    */
    metadata(): VideoMetadata;
    /**
    * Decodes the audio track. Media without an audio track give audio of 0 seconds.
    */
    extractAudio(channels: Channels): Audio;
    /**
    * All facts about the file as a JSON object: `duration` (seconds), `has_audio`, `has_video`, `width` and `height`
    * (pixels as a player shows them), `frame_rate`, `tracks` (each with `kind`, `codec` and `language`),
    * `chapters` (each with `start` and `end` in seconds, and `title`), `title` and `description`. What the file does
    * not say is absent. Its texts are of strangers.
    */
    facts(): string;
    /**
    * Chooses frames. `options` is a JSON object with exactly one of `every` (seconds: the first frame of each
    * interval of this length), `count` (the first frame of each of so many equal parts), `times` (a list of seconds:
    * the frame that a player shows at each), `scenes` (0 to 1: the first frame, and each one that differs from the
    * one before it by more than this) and `keyframes` (`true`); and with `max_width` and `max_height`, into which
    * frames are scaled down. With `format` (`jpeg` or `png`) and `quality` of a JPEG, the decoder makes files, which
    * costs less than to encode frames: each frame is the image of a file, which `encode` with the same members
    * returns as it is. Media without a video track have none.
    */
    frames(options: string): Frames;
    /**
    * The embedded subtitles of a track in SubRip (`.srt`), with times from the start of the file. `track` counts the
    * tracks of subtitles from 0 on; none stands for the first one. Fails with `VideoReadingException` where there is
    * none, or where they are pictures.
    */
    subtitles(track: number | undefined): string;
    [Symbol.dispose](): void;
  }
}
