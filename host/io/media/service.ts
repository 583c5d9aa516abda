import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { cancelledError, isDiskFull } from '../../base/core/errors.ts';
import { randomSuffix } from '../../base/core/ids.ts';
import { type RequestContext, tenantOf } from '../../base/core/request-context.ts';
import { noTelemetry } from '../../base/core/telemetry.ts';
import { MediaCache } from './cache/media-cache.ts';
import { UrlFiles } from './cache/url-files.ts';
import { DecodedAudio, OpenedSound } from './decoded-audio.ts';
import { DecodedImage } from './decoded-image.ts';
import { diskFullError } from './errors.ts';
import { Limiter } from '../../base/core/async/limiter.ts';
import { MediaTelemetry } from './media-telemetry.ts';
import { ProcessFolder, removeStaleFolders } from '../artifacts/index.ts';
import { HeldVideo } from './video/held-video.ts';
import type { AudioChannels, MediaOptions, MediaSource, UploadedFile } from './types.ts';
import { MediaScope, type SharedByScopes } from './scope.ts';

/** Number of downloads from web pages at the same time. Each is a Python process that mostly waits. */
const MAX_PAGES = 4;

/**
 * `userId`, or without keys `client`, has downloads and kept files of its own. They are known in a request and from its
 * context. Without them nothing is kept.
 */
export interface OpenAudioOptions extends Pick<RequestContext, 'userId' | 'client'> {
  readonly channels?: AudioChannels | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The file parts of the request by field name, for a `content`. */
  readonly files?: ReadonlyMap<string, UploadedFile> | undefined;
  /**
   * Folders that a `path` may lie in, instead of the folders that the operator allows to clients. `['/']` allows every
   * file that this process can read.
   */
  readonly allowPaths?: readonly string[] | undefined;
}

export type OpenSoundOptions = Omit<OpenAudioOptions, 'channels' | 'allowPaths'>;

export type OpenImageOptions = Omit<OpenAudioOptions, 'channels'>;

export type OpenVideoOptions = OpenImageOptions;

/** What differs from the options of the service. */
export interface ScopeRules extends Partial<Pick<MediaOptions, 'allowPaths' | 'maxBytes'>> {
  /** The request whose user or address has downloads and kept files of its own. Default: nothing is kept. */
  readonly context?: RequestContext | undefined;
}

/**
 * Interval between searches for stale folders. The folders of processes that this one cannot see become stale only
 * after some time, so one search is not enough.
 */
const CLEAN_MS = 3_600_000;

/**
 * Opens the media of clients. A process has one. It owns a folder in `tempDir` and limits the number of ffmpeg
 * processes.
 */
export class MediaService {
  readonly #options: MediaOptions;
  readonly #shared: SharedByScopes;
  readonly #folder: ProcessFolder;
  readonly #cache: MediaCache | undefined;
  readonly #cleaning: NodeJS.Timeout;
  #closed = false;

  /** Starts to remove the folders of dead processes from `tempDir`. */
  constructor(options: MediaOptions) {
    const { tempDir, cache, log } = options;
    const telemetry = new MediaTelemetry(options.telemetry ?? noTelemetry);
    this.#options = options;
    this.#folder = new ProcessFolder(tempDir);
    this.#cache = cache && new MediaCache({ ...cache, log, onSize: (bytes) => telemetry.cacheSize(bytes) });
    this.#shared = {
      decoding: new Limiter(options.maxProcesses ?? availableParallelism()),
      urls: new UrlFiles({
        media: options,
        pages: new Limiter(options.maxProcesses ?? MAX_PAGES),
        telemetry,
        cache: this.#cache,
        newPath: () => this.#newPath(),
      }),
      telemetry,
    };
    // Both log their failures themselves.
    const clean = (): void => void Promise.all([removeStaleFolders(tempDir, log), this.#cache?.clean()]);
    clean();
    this.#cleaning = setInterval(clean, CLEAN_MS).unref();
  }

  /** Opens a scope, which the caller has to dispose. Its decoders take turns with those of other users. */
  openScope({ context = {}, ...rules }: ScopeRules = {}): MediaScope {
    const options = { tenant: tenantOf(context), ...this.#options, ...rules };
    return new MediaScope(options, this.#shared, () => this.#makeFolder());
  }

  /**
   * Decodes one audio that may outlive a request, under the rules for sources of clients. Throws the errors of {@link
   * MediaScope.open}.
   */
  async openAudio(
    source: MediaSource,
    { channels = 'mix', signal, files = new Map(), allowPaths, ...context }: OpenAudioOptions = {},
  ): Promise<DecodedAudio> {
    const scope = this.openScope({ context, ...(allowPaths && { allowPaths }) });
    try {
      const media = await scope.open(source, { files, signal });
      const { reference, duration } = await media.extractAudio(channels, { signal });
      return new DecodedAudio(reference, duration, () => scope[Symbol.asyncDispose]());
    } catch (error) {
      await scope[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * Like `openAudio`, for calls of one request: it does not wait for the end of decoding that takes a while. Disposing
   * the sound or aborting the signal stops the decoder.
   */
  async openSound(
    source: MediaSource,
    { signal, files = new Map(), ...context }: OpenSoundOptions,
  ): Promise<OpenedSound> {
    const scope = this.openScope({ context });
    try {
      const media = await scope.open(source, { files, signal });
      const audio = await media.extractAudio('mix', { signal, early: true });
      return new OpenedSound(audio, () => scope[Symbol.asyncDispose]());
    } catch (error) {
      await scope[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * Decodes one image for `chat`, which may outlive a request, under the rules for sources of clients. Throws the
   * errors of {@link MediaScope.openImage}.
   */
  async openImage(
    source: MediaSource,
    { signal, files = new Map(), allowPaths, ...context }: OpenImageOptions = {},
  ): Promise<DecodedImage> {
    const scope = this.openScope({ context, ...(allowPaths && { allowPaths }) });
    try {
      const image = await scope.openImage(source, { files, signal });
      return new DecodedImage(await image.forModel({ signal }), image.encode, () => scope[Symbol.asyncDispose]());
    } catch (error) {
      await scope[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * Opens a video for its facts, its audio and its frames, under the rules for sources of clients. Throws the errors of
   * {@link MediaScope.open}.
   */
  async openVideo(
    source: MediaSource,
    { signal, files = new Map(), allowPaths, ...context }: OpenVideoOptions = {},
  ): Promise<HeldVideo> {
    const scope = this.openScope({ context, ...(allowPaths && { allowPaths }) });
    try {
      return new HeldVideo(await scope.open(source, { files, signal }), () => scope[Symbol.asyncDispose]());
    } catch (error) {
      await scope[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Removes the folder with everything in it. Dispose the scopes first. May be called twice. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#cleaning);
    await this.#cache?.close();
    await this.#folder.remove();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #newPath(): Promise<string> {
    if (this.#closed) throw cancelledError('the media service is closed');
    return join(await this.#folder.path(), randomSuffix());
  }

  async #makeFolder(): Promise<string> {
    const { tempDir } = this.#options;
    try {
      const folder = await this.#newPath();
      await mkdir(folder, { mode: 0o700 });
      return folder;
    } catch (error) {
      throw isDiskFull(error) ? diskFullError(tempDir, error) : error;
    }
  }
}
