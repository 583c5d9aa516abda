import { hostCall } from '../host-error.ts';
import type { Chunks } from '../../../../wit/generated/world/deployments.ts';
import type {
  Audio as HostAudio,
  Image as HostImage,
  Video as HostVideo,
} from '../../../../wit/generated/world/media.ts';
import type { Task as HostTask } from '../../../../wit/generated/world/remote.ts';
import type { Host } from '../host.ts';

/** Disposes the handles that were opened during a run, newest first. */
export class HandleScope {
  readonly #open = new Set<Disposable>();

  track<T extends Disposable>(handle: T): T {
    this.#open.add(handle);
    return handle;
  }

  dispose(handle: Disposable): void {
    if (this.#open.delete(handle)) handle[Symbol.dispose]();
  }

  disposeAll(): void {
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
    this.info = { duration, hasAudio, hasVideo };
  }

  /** Title and description from the page of the video. Undefined for a file, and where the page has none. */
  get metadata(): VideoMetadata {
    const { title, description } = this.#handle.metadata();
    return { title, description };
  }

  /**
   * Decodes the audio track. `separate` keeps the channels apart. Media without an audio track give audio of 0 seconds.
   */
  extractAudio(options: { readonly channels?: 'mix' | 'separate' } = {}): Audio {
    return new Audio(
      hostCall(() => this.#handle.extractAudio(options.channels ?? 'mix')),
      this.#scope,
    );
  }

  /** Frees it before the end of the run. */
  [Symbol.dispose](): void {
    this.#scope.dispose(this.#handle);
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
  /** The encoding of the file: `png`, `mjpeg` (JPEG), `gif`, `webp`, `bmp`. */
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
  }: { readonly width?: number; readonly height?: number } = {}): Uint8Array {
    return hostCall(() => this.handle.pixels(width, height));
  }

  /** Frees it before the end of the run. */
  [Symbol.dispose](): void {
    this.#scope.dispose(this.handle);
  }
}

/** A helper that runs in another instance. Disposing it cancels it. */
export class RemoteTask<T> implements Disposable {
  readonly #scope: HandleScope;
  readonly #handle: HostTask;

  constructor(handle: HostTask, scope: HandleScope) {
    this.#handle = scope.track(handle);
    this.#scope = scope;
  }

  /** Returns the result of the helper. Throws the helper's error. */
  wait(): T {
    return JSON.parse(hostCall(() => this.#handle.wait())) as T;
  }

  [Symbol.dispose](): void {
    this.#scope.dispose(this.#handle);
  }
}

/**
 * Values of a streaming method, as they arrive. Iterate it once. Leaving the loop early, or disposing, cancels the
 * method.
 */
export class Stream<T, Returned = unknown> implements Iterable<T>, Disposable {
  readonly #scope: HandleScope;
  readonly #handle: Chunks;
  #returned: Returned | undefined;

  constructor(handle: Chunks, scope: HandleScope) {
    this.#handle = scope.track(handle);
    this.#scope = scope;
  }

  /**
   * The value that the method returned after its last one. Undefined until the stream was read or forwarded to its end,
   * and for a method that returns none.
   */
  get returned(): Returned | undefined {
    return this.#returned;
  }

  #end(): void {
    const json = hostCall(() => this.#handle.returned());
    if (json !== '') this.#returned = JSON.parse(json) as Returned;
  }

  *[Symbol.iterator](): Generator<T, void, undefined> {
    try {
      for (;;) {
        const values = hostCall(() => this.#handle.next());
        if (values.length === 0) return this.#end();
        for (const value of values) yield JSON.parse(value) as T;
      }
    } finally {
      this[Symbol.dispose]();
    }
  }

  /** Sends all remaining values to the client, without entering the sandbox for each value. */
  forwardTo(host: Host): void {
    try {
      hostCall(() => host.output.forward(this.#handle));
      this.#end();
    } finally {
      this[Symbol.dispose]();
    }
  }

  [Symbol.dispose](): void {
    this.#scope.dispose(this.#handle);
  }
}
