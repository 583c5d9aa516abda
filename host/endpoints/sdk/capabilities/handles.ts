import { fromBase64 } from '../guest/base64.ts';
import { hostPromise, waitFor } from '../guest/event-loop.ts';
import { hostCall } from '../host-error.ts';
import type { Chunks } from '../../../../wit/generated/world/deployments.ts';
import type {
  AsrSegment,
  FrameFileOptions,
  FrameOptions,
  ImageEncoding,
  VideoFacts,
} from '../../../base/schemas/index.ts';
import { fromSubtitles } from '../../../base/transcripts/index.ts';
import type {
  Audio as HostAudio,
  Frames as HostFrames,
  Image as HostImage,
  Video as HostVideo,
} from '../../../../wit/generated/world/media.ts';
import type { Host } from '../host.ts';

/** Disposes the handles that were opened during a run, newest first. */
export class HandleScope {
  readonly #open = new Set<Disposable>();
  #isOver = false;

  /** Notes a handle. One that a call opens after the run has ended is disposed at once. */
  track<T extends Disposable>(handle: T): T {
    if (this.#isOver) handle[Symbol.dispose]();
    else this.#open.add(handle);
    return handle;
  }

  dispose(handle: Disposable): void {
    if (this.#open.delete(handle)) handle[Symbol.dispose]();
  }

  disposeAll(): void {
    this.#isOver = true;
    if (this.#open.size > 0) for (const handle of [...this.#open].toReversed()) this.dispose(handle);
  }
}

/** Decoded audio, held by the host. It can be an argument of a deployment's call. */
export class Audio implements Disposable {
  readonly #scope: HandleScope;
  /** @internal */
  readonly handle: HostAudio;

  constructor(handle: HostAudio, scope: HandleScope) {
    this.handle = scope.track(handle);
    this.#scope = scope;
  }

  /**
   * Seconds of the longest channel; 0 when the media has no audio track. While long audio is decoded, what the media
   * says.
   */
  get duration(): number {
    return this.handle.duration();
  }

  /** Frees it before the end of the run. */
  [Symbol.dispose](): void {
    this.#scope.dispose(this.handle);
  }
}

export interface VideoInfo {
  /** Seconds; absent when the file does not say. */
  readonly duration: number | undefined;
  readonly hasAudio: boolean;
  readonly hasVideo: boolean;
}

/** The description of a video by its site. It is text of strangers. */
export interface VideoMetadata {
  readonly title: string | undefined;
  readonly description: string | undefined;
}

/** A fetched and probed media file, held by the host. */
export class Video implements Disposable {
  readonly #scope: HandleScope;
  readonly #handle: HostVideo;
  readonly info: VideoInfo;

  constructor(handle: HostVideo, scope: HandleScope) {
    this.#handle = scope.track(handle);
    this.#scope = scope;
    const { duration, hasAudio, hasVideo } = handle.info();
    this.info = { duration: duration ?? undefined, hasAudio, hasVideo }; // bindings return null for an absent value
  }

  /** Title and description from the page of the video. Undefined for a file, and where the page has none. */
  get metadata(): VideoMetadata {
    const { title, description } = this.#handle.metadata();
    return { title: title ?? undefined, description: description ?? undefined };
  }

  /**
   * Decodes the audio track. `separate` keeps the channels apart. Media without an audio track give audio of 0 seconds.
   */
  extractAudio(options: { readonly channels?: 'mix' | 'separate' } = {}): Promise<Audio> {
    return hostPromise(
      () => this.#handle.extractAudio(options.channels ?? 'mix'),
      (audio) => new Audio(audio, this.#scope),
    );
  }

  /** All facts about the file. */
  facts(): Promise<VideoFacts> {
    return hostPromise(
      () => this.#handle.facts(),
      (json) => JSON.parse(json) as VideoFacts,
    );
  }

  /**
   * Decodes frames, each when it is asked for: `for await (const { time, image } of video.frames({ every: 1 }))`.
   * Exactly one of `every` (seconds), `count`, `times`, `scenes` and `keyframes` chooses them. Media without a video
   * track have none. With `format`, each image is a file of this form.
   */
  frames(options: FrameOptions | FrameFileOptions): Frames {
    return new Frames(() => this.#handle.frames(JSON.stringify(options)), this.#scope);
  }

  /**
   * Decodes frames as {@link frames} does, to files:
   * `for await (const { time, file } of video.frameFiles({ every: 1, format: 'jpeg' }))`. The decoder makes the files,
   * which costs less than `encode` of each image.
   */
  async *frameFiles(options: FrameFileOptions): AsyncGenerator<FrameFile, void, undefined> {
    const { format, quality } = options;
    const encoding: ImageEncoding = { format, ...(quality !== undefined && { quality }) };
    for await (const { time, image } of this.frames(options))
      try {
        yield { time, width: image.width, height: image.height, file: await image.encode(encoding) };
      } finally {
        image[Symbol.dispose]();
      }
  }

  /** Returns the frame at `at` seconds; default: a tenth of the duration. Undefined without a video track. */
  async thumbnail({ at }: { readonly at?: number } = {}): Promise<Image | undefined> {
    for await (const { image } of this.frames({ times: [at ?? (this.info.duration ?? 0) / 10] })) return image;
    return undefined;
  }

  /**
   * Returns the embedded subtitles of a track as segments of a transcript. `track` counts the tracks of subtitles from
   * 0 on; default: the first one. Rejects with `VideoReadingException` where there is none, or where they are pictures.
   */
  subtitles({ track }: { readonly track?: number } = {}): Promise<AsrSegment[]> {
    return hostPromise(() => this.#handle.subtitles(track), fromSubtitles);
  }

  /** Frees it before the end of the run. */
  [Symbol.dispose](): void {
    this.#scope.dispose(this.#handle);
  }
}

/** A decoded picture of a video. */
export interface Frame {
  /** Seconds from the start of the file, as a player shows them. */
  readonly time: number;
  /** Held by the host until it is disposed, or until the run ends. */
  readonly image: Image;
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

/**
 * The chosen frames of a video. Iterate them once: with `for await`, or with `for`, during which the rest of the run
 * waits. Leaving the loop early, or disposing, ends the decoder.
 */
export class Frames implements AsyncIterable<Frame>, Iterable<Frame>, Disposable {
  readonly #scope: HandleScope;
  readonly #open: () => HostFrames;
  #handle: HostFrames | undefined;
  #isUsed = false;

  constructor(open: () => HostFrames, scope: HandleScope) {
    this.#open = open;
    this.#scope = scope;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Frame, void, undefined> {
    try {
      const frames = await this.#begin();
      for (;;) {
        const time = await hostPromise(() => frames.next() ?? undefined); // bindings return null for an absent value
        if (time === undefined) return;
        yield { time, image: await this.#image(frames) };
      }
    } finally {
      this[Symbol.dispose]();
    }
  }

  *[Symbol.iterator](): Generator<Frame, void, undefined> {
    try {
      const frames = waitFor(this.#begin());
      for (;;) {
        const time = waitFor(hostPromise(() => frames.next() ?? undefined));
        if (time === undefined) return;
        yield { time, image: waitFor(this.#image(frames)) };
      }
    } finally {
      this[Symbol.dispose]();
    }
  }

  [Symbol.dispose](): void {
    this.#isUsed = true;
    if (this.#handle) this.#scope.dispose(this.#handle);
  }

  #begin(): Promise<HostFrames> {
    if (this.#isUsed) throw new TypeError('the frames of a video can be read once');
    this.#isUsed = true;
    return hostPromise(this.#open, (opened) => (this.#handle = this.#scope.track(opened)));
  }

  #image(frames: HostFrames): Promise<Image> {
    return hostPromise(
      () => frames.image(),
      (image) => new Image(image, this.#scope),
    );
  }
}

/**
 * A fetched and probed image, held by the host. It can be a part of a dialog, and an argument of a deployment's call.
 */
export class Image implements Disposable {
  readonly #scope: HandleScope;
  /** @internal */
  readonly handle: HostImage;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  /**
   * The encoding of the file: `png`, `mjpeg` (JPEG), `gif`, `webp`, `bmp`, `av1` (AVIF), `hevc` (HEIC); `rawvideo` for
   * a frame of a video.
   */
  readonly format: string;

  constructor(handle: HostImage, scope: HandleScope) {
    this.handle = scope.track(handle);
    this.#scope = scope;
    const { width, height, format } = handle.info();
    this.width = width;
    this.height = height;
    this.format = format;
  }

  /**
   * Decodes the image at this size. Default: its original size. Returns the red, green and blue value of each pixel,
   * row by row from the top, without transparency. At most 4,194,304 pixels.
   */
  pixels({
    width = this.width,
    height = this.height,
  }: { readonly width?: number; readonly height?: number } = {}): Promise<Uint8Array> {
    return hostPromise(() => this.handle.pixelsBase64(width, height), fromBase64);
  }

  /** Returns the file of the image as a JPEG or PNG, without transparency: `image.encode({ format: 'jpeg' })`. */
  encode(encoding: ImageEncoding): Promise<Uint8Array> {
    return hostPromise(() => this.handle.encode(JSON.stringify(encoding)), fromBase64);
  }

  /** Frees it before the end of the run. */
  [Symbol.dispose](): void {
    this.#scope.dispose(this.handle);
  }
}

/**
 * Values of a streaming method, as they arrive. The method is called when the first value is asked for. Iterate it
 * once: with `for await`, or with `for`, during which the rest of the run waits. Leaving the loop early, or disposing,
 * cancels the method.
 */
export class Stream<T, Returned = unknown> implements AsyncIterable<T>, Iterable<T>, Disposable {
  readonly #scope: HandleScope;
  readonly #open: () => Chunks;
  #handle: Chunks | undefined;
  #isDisposed = false;
  #returned: Returned | undefined;

  constructor(open: () => Chunks, scope: HandleScope) {
    this.#open = open;
    this.#scope = scope;
  }

  /**
   * The value that the method returned after its last one. Undefined until the stream was read or forwarded to its end,
   * and for a method that returns none.
   */
  get returned(): Returned | undefined {
    return this.#returned;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    try {
      const chunks = await hostPromise(this.#open, (opened) => this.#opened(opened));
      for (;;) {
        const values = await hostPromise(() => chunks.next());
        if (values.length === 0) return this.#end(chunks);
        for (const value of values) yield JSON.parse(value) as T;
      }
    } finally {
      this[Symbol.dispose]();
    }
  }

  *[Symbol.iterator](): Generator<T, void, undefined> {
    try {
      const chunks = waitFor(hostPromise(this.#open, (opened) => this.#opened(opened)));
      for (;;) {
        const values = waitFor(hostPromise(() => chunks.next()));
        if (values.length === 0) return this.#end(chunks);
        for (const value of values) yield JSON.parse(value) as T;
      }
    } finally {
      this[Symbol.dispose]();
    }
  }

  /** Sends all remaining values to the client, without entering the sandbox for each value. */
  forwardTo(host: Host): void {
    try {
      const chunks = this.#handle ?? this.#opened(hostCall(this.#open));
      hostCall(() => host.output.forward(chunks));
      this.#end(chunks);
    } finally {
      this[Symbol.dispose]();
    }
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    if (this.#handle) this.#scope.dispose(this.#handle);
  }

  #opened(chunks: Chunks): Chunks {
    const isSecond = this.#handle !== undefined;
    this.#handle ??= this.#scope.track(chunks);
    if (!this.#isDisposed && !isSecond) return chunks;
    if (isSecond) chunks[Symbol.dispose]();
    else this[Symbol.dispose]();
    throw new TypeError(isSecond ? 'a stream can be read once' : 'the stream was disposed');
  }

  #end(chunks: Chunks): void {
    const json = hostCall(() => chunks.returned());
    if (json !== '') this.#returned = JSON.parse(json) as Returned;
  }
}
