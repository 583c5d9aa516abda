import { rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cancelledError, isDiskFull } from '../../base/core/errors.ts';
import { deferred } from '../../base/core/deferred.ts';
import { newId, randomSuffix } from '../../base/core/ids.ts';
import type { GrowingAudioReference } from '../../base/schemas/growing-audio.ts';
import { audioTrackOf } from './audio/audio-track.ts';
import type { UrlFiles } from './cache/url-files.ts';
import { DecodedTrack } from './decoded-audio.ts';
import { sizeForModel, writePixels } from './decoded-image.ts';
import { decodeAudio } from './decode.ts';
import {
  diskFullError,
  imagesTooLargeError,
  tooManyFrameStreamsError,
  uploadMissingError,
  videoReadingError,
} from './errors.ts';
import { encodeImage, imagePixels, probeImage } from './image.ts';
import type { Limiter, Place } from '../../base/core/async/limiter.ts';
import type { MediaTelemetry } from './media-telemetry.ts';
import { openAllowed } from './local-paths.ts';
import { type OpenedFile, OpenedVideo } from './opened-video.ts';
import { type ProbeOptions, probeFile } from './probe.ts';
import { type FrameReadingOptions, readFrameFiles, readFrames } from './video/frame-reader.ts';
import { readSubtitles } from './video/subtitles.ts';
import type { PageMedia } from './yt-dlp.ts';
import type {
  AudioChannels,
  AudioMedia,
  ImageInfo,
  ImageMedia,
  MediaOptions,
  MediaSource,
  MediaWorkOptions,
  UploadedFile,
  VideoMedia,
} from './types.ts';

/** Decoders of frames that a scope has at a time. Each takes up to 100 MB while it waits. */
const MAX_FRAME_STREAMS = 4;
/** Bytes of all files of images that the user of a scope has in memory. They lie on the disk as long as the scope. */
const MAX_GIVEN_BYTES = 64 * 1024 * 1024;

export interface OpenOptions {
  /** The file parts of the request by field name. */
  readonly files: ReadonlyMap<string, UploadedFile>;
  /**
   * Returns why a URL must not be requested. Called for each URL, including redirects and the URLs that a page leads
   * to.
   */
  readonly refusalOf?: ((url: URL) => string | undefined) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The place in a distributed trace. */
  readonly traceparent?: string | undefined;
}

/** State that all scopes of a service share. */
export interface SharedByScopes {
  /** Limits the ffmpeg processes. */
  readonly decoding: Limiter;
  /** Fetches files. */
  readonly urls: UrlFiles;
  readonly telemetry: MediaTelemetry;
}

export interface ScopeOptions extends MediaOptions {
  /** Whose media these are, as `tenantOf` tells it. */
  readonly tenant: string;
}

/** The media of one invocation, with their files. */
export class MediaScope {
  readonly #options: ScopeOptions;
  /** Runs work when one of the places of decoders is free, in turns with that of other users. */
  readonly #run: <T>(work: (place: Place) => Promise<T>, signal: AbortSignal) => Promise<T>;
  readonly #urls: UrlFiles;
  readonly #telemetry: MediaTelemetry;
  readonly #makeFolder: () => Promise<string>;
  readonly #disposal = new AbortController();
  readonly #work = new Set<Promise<unknown>>();
  /** Opened files by the source that the client gave. */
  readonly #opened = new Map<string, Promise<OpenedFile>>();
  /** Files that clients named by path or URL. */
  readonly #files: AsyncDisposable[] = [];
  #folder: Promise<string> | undefined;
  #frameStreams = 0;
  /** Bytes of the files of {@link decodeImage}. */
  #givenBytes = 0;

  /** @internal use `MediaService.openScope` */
  constructor(options: ScopeOptions, { decoding, urls, telemetry }: SharedByScopes, makeFolder: () => Promise<string>) {
    this.#options = options;
    const queued = { userId: options.tenant || null, priority: 0, cost: 1 };
    this.#run = (work, signal) => decoding.run(work, signal, queued);
    this.#urls = urls;
    this.#telemetry = telemetry;
    this.#makeFolder = makeFolder;
  }

  /**
   * Fetches or finds the file and probes it. The same URL, path or part again gives the same file without another
   * fetch. Throws the errors of {@link fetchToFile} and {@link openAllowed}, `UploadedFileNotFound`,
   * `VideoReadingException` for a file that is not media, or `AudioReadingException` for an audio track that it lacks.
   */
  async open(source: MediaSource, options: OpenOptions): Promise<VideoMedia> {
    const key = JSON.stringify([source.url ?? null, source.path ?? null, source.content ?? null]);
    const file = await this.#track(options.signal, async (signal) => {
      let opened = this.#opened.get(key);
      if (!opened) {
        opened = this.#open(source, { ...options, signal });
        this.#opened.set(key, opened);
        opened.catch(() => this.#opened.delete(key)); // the next attempt may succeed
      }
      return opened;
    });
    audioTrackOf(file.probe, source);
    return new OpenedVideo(source.media_id ?? newId(), file, {
      extract: (channels, work) => this.#extract(source, file, channels, work),
      frames: (options, work) =>
        this.#frames(source, (reading) => readFrames(file.path, file.probe, options, reading, work)),
      frameFiles: (options, work) =>
        this.#frames(source, (reading) => readFrameFiles(file.path, file.probe, options, reading, work)),
      subtitles: (number, { signal }) => this.#subtitles(source, file, number, signal),
    });
  }

  /** Like `open`, for an image. Throws `ImageReadingException` for a file that is not an image. */
  openImage(source: MediaSource, options: OpenOptions): Promise<ImageMedia> {
    return this.#track(options.signal, async (signal) => {
      const { path } = await this.#locate(source, { ...options, signal }, false);
      const { ffmpegPath } = this.#options;
      const info = await this.#run(() => probeImage(path, { ffmpegPath, source, signal }), signal);
      const { pixels, encode } = this.#converters(path, info, source);
      const forModel: ImageMedia['forModel'] = async (more) => {
        const size = sizeForModel(info, source);
        const values = await pixels(size, more);
        return writePixels(values, size, { root: this.#options.tempDir, file: await this.#newPath() }).catch(
          (error: unknown) => {
            throw isDiskFull(error) ? diskFullError(this.#options.tempDir, error) : error;
          },
        );
      };
      return { info, pixels, encode, forModel };
    });
  }

  /**
   * Like `openImage`, for a file that the caller has in memory. Throws `ImagesTooLarge` when such files of this scope
   * have too many bytes together.
   */
  async decodeImage(file: Uint8Array, { signal, traceparent }: MediaWorkOptions = {}): Promise<ImageMedia> {
    if (this.#givenBytes + file.length > MAX_GIVEN_BYTES) throw imagesTooLargeError(MAX_GIVEN_BYTES);
    this.#givenBytes += file.length;
    const path = await this.#track(signal, async () => {
      const own = await this.#newPath();
      await writeFile(own, file, { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
        throw isDiskFull(error) ? diskFullError(this.#options.tempDir, error) : error;
      });
      return own;
    });
    const files = new Map([['the given file', { path, bytes: file.length }]]);
    return this.openImage({ content: 'the given file' }, { files, signal, traceparent });
  }

  /**
   * Stops running work and removes the files. Uploaded files stay, because they belong to the request. May be called
   * twice.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal.abort(cancelledError('the media scope was disposed'));
    await Promise.allSettled([...this.#work]);
    await Promise.all(this.#files.splice(0).map((file) => file[Symbol.asyncDispose]()));
    const folder = await this.#folder?.catch(() => undefined);
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }

  #converters(path: string, info: ImageInfo, source: MediaSource): Pick<ImageMedia, 'pixels' | 'encode'> {
    const { ffmpegPath } = this.#options;
    const convert = <T>(work: (options: ProbeOptions) => Promise<T>, more: MediaWorkOptions = {}): Promise<T> =>
      this.#inPlace('image', (signal) => work({ ffmpegPath, source, signal }), more);
    return {
      pixels: (size, more) => convert((options) => imagePixels(path, info, size, options), more),
      encode: (encoding, more) => convert((options) => encodeImage(path, info, encoding, options), more),
    };
  }

  /** Runs work as `#track` does, when one of the places of decoders is free, and reports it. */
  #inPlace<T>(
    kind: 'image' | 'frame',
    work: (signal: AbortSignal, place: Place) => Promise<T>,
    { signal, traceparent }: MediaWorkOptions,
  ): Promise<T> {
    return this.#track(signal, (ends) =>
      this.#telemetry.decode(kind, traceparent, () => this.#run((place) => work(ends, place), ends)),
    );
  }

  #subtitles(
    source: MediaSource,
    { path, probe }: OpenedFile,
    number: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const { ffmpegPath, maxDurationS } = this.#options;
    return this.#track(signal, (ends) =>
      this.#run(() => readSubtitles(path, probe, number, { ffmpegPath, source, maxDurationS, signal: ends }), ends),
    );
  }

  /** Decodes frames. A decoder that waits for the next call has no place among the decoders, so that others go on. */
  async *#frames<T>(
    source: MediaSource,
    read: (reading: FrameReadingOptions) => AsyncGenerator<T, void, undefined>,
  ): AsyncGenerator<T, void, undefined> {
    if (this.#frameStreams >= MAX_FRAME_STREAMS) throw tooManyFrameStreamsError(MAX_FRAME_STREAMS);
    this.#frameStreams += 1;
    const { ffmpegPath, maxDurationS, tempDir: root } = this.#options;
    const reading: FrameReadingOptions = {
      ...{ ffmpegPath, source, maxDurationS, root, signal: this.#disposal.signal },
      newPath: () => this.#newPath(),
      inPlace: (...args) => this.#inPlace(...args),
    };
    try {
      yield* read(reading);
    } finally {
      this.#frameStreams -= 1;
    }
  }

  async #open(source: MediaSource, opening: Opening): Promise<OpenedFile> {
    const { path, ...told } = await this.#locate(source, opening, true);
    const { signal } = opening;
    const probe = await this.#run(
      () => probeFile(path, { ffmpegPath: this.#options.ffmpegPath, source, signal }),
      signal,
    );
    return { path, probe, told, audio: new Map() };
  }

  async #locate(source: MediaSource, opening: Opening, canBePage: boolean): Promise<PageMedia> {
    if (source.content != null) {
      const file = opening.files.get(source.content);
      if (!file) throw uploadMissingError(source.content);
      return { path: await this.#named(file.path, file.filename) };
    }
    if (source.path != null) return { path: await this.#named(await this.#openPath(source.path), source.path) };
    if (source.url != null) {
      const { url } = source;
      return this.#telemetry.fetch(opening.traceparent, () => this.#fetch(url, opening, canBePage));
    }
    throw videoReadingError(source, "Exactly one of 'path', 'url', or 'content' must be provided.");
  }

  async #openPath(path: string): Promise<string> {
    const file = await openAllowed(path, this.#options.allowPaths);
    this.#files.push(file);
    return file.path;
  }

  async #fetch(url: string, { refusalOf, signal }: Opening, canBePage: boolean): Promise<PageMedia> {
    const extension = extensionOf(URL.canParse(url) ? new URL(url).pathname : undefined);
    const { maxBytes, tenant } = this.#options;
    const file = await this.#urls.open(url, { tenant, maxBytes, canBePage, extension, refusalOf, signal });
    this.#files.push(file);
    return file.result.media;
  }

  async #extract(
    source: MediaSource,
    file: OpenedFile,
    channels: AudioChannels,
    { signal, traceparent }: MediaWorkOptions,
  ): Promise<DecodedTrack> {
    return this.#track(signal, async (combined) => {
      const key = `${channels} ${source.audio_track ?? 'default'}`;
      let track = file.audio.get(key);
      if (!track) {
        const growing = deferred<GrowingAudioReference>();
        const whole = this.#track(combined, (ends) =>
          this.#telemetry.decode('audio', traceparent, () =>
            this.#decode(source, file, channels, ends, growing.resolve),
          ),
        );
        track = new DecodedTrack(file.probe.info, growing.promise, whole);
        file.audio.set(key, track);
        whole.catch(() => file.audio.delete(key));
      }
      return track;
    });
  }

  async #decode(
    source: MediaSource,
    file: OpenedFile,
    channels: AudioChannels,
    signal: AbortSignal,
    onGrowing: (reference: GrowingAudioReference) => void,
  ): Promise<AudioMedia> {
    const { ffmpegPath, maxDurationS, tempDir } = this.#options;
    const folder = await this.#ownFolder();
    return this.#run(
      () =>
        decodeAudio(file.path, file.probe, {
          ffmpegPath,
          source,
          channels,
          maxDurationS,
          root: tempDir,
          folder,
          name: randomSuffix(),
          signal,
          onGrowing,
        }),
      signal,
    );
  }

  /** Returns a path of the file that ends as the client's name for it. */
  async #named(path: string, name: string | undefined): Promise<string> {
    const extension = extensionOf(name);
    if (extension === '' || path.endsWith(extension)) return path;
    const link = (await this.#newPath()) + extension;
    await symlink(path, link);
    return link;
  }

  async #newPath(): Promise<string> {
    return join(await this.#ownFolder(), randomSuffix());
  }

  #ownFolder(): Promise<string> {
    this.#folder ??= this.#makeFolder();
    return this.#folder;
  }

  /** Runs `work` under the signals of the caller and of the scope. Disposal waits for it. */
  async #track<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const combined = signal ? AbortSignal.any([signal, this.#disposal.signal]) : this.#disposal.signal;
    combined.throwIfAborted();
    const running = work(combined);
    this.#work.add(running);
    try {
      return await running;
    } finally {
      this.#work.delete(running);
    }
  }
}

/**
 * Returns the end of a file's name with its dot, from which ffmpeg guesses a format that the content does not show;
 * empty for what is not an extension.
 */
function extensionOf(name: string | undefined): string {
  return /\.[a-z\d]{1,8}$/i.exec(name ?? '')?.[0].toLowerCase() ?? '';
}

/** One call of `open` or `openImage`. Its signal combines the signals of the caller and of the scope. */
type Opening = OpenOptions & { readonly signal: AbortSignal };
