import { rm } from 'node:fs/promises';
import type { Limiter } from '../../../base/core/async/limiter.ts';
import { AanaError } from '../../../base/core/errors.ts';
import { outsideRequests } from '../../../base/core/async/request-scope.ts';
import { randomSuffix } from '../../../base/core/ids.ts';
import { type HeldResult, SharedWork } from '../../../base/core/async/shared-work.ts';
import type { Guards } from '../../outgoing/index.ts';
import { pageError } from '../errors.ts';
import { fetchToFile } from '../fetch.ts';
import type { MediaTelemetry } from '../media-telemetry.ts';
import type { MediaOptions } from '../types.ts';
import { downloadPage, type PageMedia } from '../yt-dlp.ts';
import { CachedFetch } from './cached-fetch.ts';
import type { MediaCache } from './media-cache.ts';

const DEFAULT_IDLE_TIMEOUT_MS = 30_000;

export interface UrlFilesOptions {
  readonly media: MediaOptions;
  /** Limits the downloads from web pages. */
  readonly pages: Limiter;
  readonly telemetry: MediaTelemetry;
  readonly cache: MediaCache | undefined;
  /** Returns the path of a new temporary file. */
  readonly newPath: () => Promise<string>;
}

export interface UrlOpening {
  /** Whose work it is. Tenants share neither files nor downloads. Empty for unknown callers, who share with nobody. */
  readonly tenant: string;
  readonly maxBytes: number;
  /** Whether the URL may be the page of a video. */
  readonly canBePage: boolean;
  /** The end of the file's name, with its dot, from which ffmpeg guesses a format. */
  readonly extension: string;
  readonly refusalOf?: Guards['refusalOf'];
  readonly signal: AbortSignal;
}

/** A file that is removed when nobody holds it. */
export interface UrlFile {
  readonly media: PageMedia;
  /** The file, or the folder that it lies in. */
  readonly removed: string;
}

interface Download {
  readonly work: SharedWork<UrlFile>;
  readonly refusalOf: Guards['refusalOf'];
}

/** The files that URLs lead to. One download serves all who ask for the same URL on behalf of one tenant meanwhile. */
export class UrlFiles {
  readonly #options: UrlFilesOptions;
  readonly #running = new Map<string, Download>();
  #isCacheUsable = true;

  constructor(options: UrlFilesOptions) {
    this.#options = options;
  }

  /**
   * Opens the file of a URL, which is there until the result is disposed. Throws the errors of {@link fetchToFile} and
   * {@link downloadPage}.
   */
  async open(url: string, opening: UrlOpening): Promise<HeldResult<UrlFile>> {
    const { tenant, maxBytes, canBePage, refusalOf, signal } = opening;
    signal.throwIfAborted();
    const key = tenant === '' ? randomSuffix() : JSON.stringify([tenant, url, maxBytes, canBePage]);
    const running = this.#running.get(key);
    if (running && running.refusalOf === refusalOf) {
      this.#options.telemetry.reused('joined', 0);
      return running.work.hold(signal);
    }
    const download: Download = {
      refusalOf,
      work: outsideRequests(
        () =>
          new SharedWork({
            work: (ends) => this.#fetch(url, opening, ends),
            remove: ({ removed }) => rm(removed, { recursive: true, force: true }),
            onClosed: () => {
              if (this.#running.get(key) === download) this.#running.delete(key);
            },
          }),
      ),
    };
    this.#running.set(key, download);
    return download.work.hold(signal);
  }

  async #fetch(url: string, opening: UrlOpening, signal: AbortSignal): Promise<UrlFile> {
    const { tenant, extension } = opening;
    const cache = tenant === '' ? undefined : await this.#usableCache();
    const save = async (): Promise<UrlFile> =>
      this.#save(url, opening, signal, (await this.#options.newPath()) + extension);
    if (!cache) return save();
    const path = cache.path + extension;
    return this.#save(url, opening, signal, path, new CachedFetch(cache.cache, tenant, path)).catch(
      (error: unknown) => {
        if (!(error instanceof AanaError) || error.name !== 'DiskFullException') throw error;
        return save(); // the folder of temporary files may lie on another disk
      },
    );
  }

  /** Fetches a URL to a new file at `path`. */
  async #save(
    url: string,
    opening: UrlOpening,
    signal: AbortSignal,
    path: string,
    cached?: CachedFetch,
  ): Promise<UrlFile> {
    const { telemetry, media } = this.#options;
    const { maxBytes } = opening;
    const guards = this.#guards(opening.refusalOf, signal);
    const found = await fetchToFile(url, path, { maxBytes, cached, ...guards });
    if (found === 'page') return this.#download(url, opening, guards);
    const { bytes, hit } = found;
    if (hit) telemetry.reused(hit, bytes);
    else telemetry.fetched(bytes);
    media.log.debug('media fetched', { bytes, ...(hit && { hit }) });
    return { media: { path }, removed: path };
  }

  /** Downloads the video of a page. Sites give no validators, so it is not kept. */
  async #download(url: string, { maxBytes, canBePage }: UrlOpening, guards: Guards): Promise<UrlFile> {
    const { pages } = this.#options;
    const { ytDlp, maxDurationS, log } = this.#options.media;
    if (!ytDlp || !canBePage) throw pageError(url, canBePage);
    const folder = await this.#options.newPath();
    try {
      const { path: ytDlpPath, env } = ytDlp;
      const options = { maxBytes, maxDurationS, source: { url }, folder, ytDlpPath, env, ...guards };
      const media = await pages.run(() => downloadPage(new URL(url), options), guards.signal);
      log.debug('media downloaded from a page');
      return { media, removed: folder };
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Returns the cache and a path beside it; undefined without one, or where nothing can be written to it. */
  async #usableCache(): Promise<{ readonly cache: MediaCache; readonly path: string } | undefined> {
    const { cache, media } = this.#options;
    if (!cache) return undefined;
    try {
      const path = await cache.newPath();
      this.#isCacheUsable = true;
      return { cache, path };
    } catch (error) {
      if (this.#isCacheUsable) media.log.warn('the cache of media cannot be written, and is not used', { error });
      this.#isCacheUsable = false;
      return undefined;
    }
  }

  #guards(refusalOf: Guards['refusalOf'], signal: AbortSignal): Guards {
    const { fetchTimeoutMs, fetchIdleTimeoutMs, maxRedirects, allowPrivateUrls, network, lookup, isPublic } =
      this.#options.media;
    return {
      timeoutMs: fetchTimeoutMs,
      idleTimeoutMs: Math.min(fetchIdleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS, fetchTimeoutMs),
      maxRedirects,
      allowPrivate: allowPrivateUrls,
      ...{ network, lookup, isPublic, refusalOf, signal },
    };
  }
}
