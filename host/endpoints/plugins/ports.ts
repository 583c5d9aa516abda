import type { KeptPlace, KeptPlaces } from '../../base/core/kept-places.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { ForCallers, RequestContext } from '../../base/core/request-context.ts';
import type { Telemetry } from '../../base/core/telemetry.ts';
import type { AudioReference } from '../../base/schemas/media-references.ts';
import type { ImageEncoding } from '../../base/schemas/videos/encoding.ts';
import type { FrameFileOptions, FrameOptions, VideoFacts } from '../../base/schemas/videos/frames.ts';
import type { GrowingAudio } from '../../base/schemas/growing-audio.ts';
import type { Metadata, VectorFilter } from '../../base/schemas/vectors/vector-filter.ts';
import type { ImageReference } from '../../base/schemas/media-references.ts';

/** What plugins need from the rest of the host. */
export interface PluginPorts extends ForCallers<UserPorts> {
  readonly deployments: {
    handle(name: string): DeploymentPort;
    /** Keeps a place for a later call. Throws the error with which the call would be refused. */
    reserve(name: string, context: RequestContext): KeptPlace;
  };
  /** Opens media for the user of a request. They are decoded in turns with those of other users. */
  openMediaScope(context: RequestContext): MediaScopePort;
  readonly http: HttpPort;
  readonly log: Logger;
  /** Receives reports about invocations and their host calls. Default: no reports. */
  readonly telemetry?: Telemetry | undefined;
}

/** Data that the host stores for one user. */
export interface UserPorts {
  readonly storage: StoragePort;
  readonly vectors: VectorsPort;
  readonly repositories: RepositoriesPort;
}

/**
 * Values by key. Each plugin has a namespace. Each call takes effect completely or not at all. Throws `StorageFull`,
 * `InvalidKey`, `ValueTooLarge`, `StoredValueMismatch` and `InvalidArguments`.
 */
export interface StoragePort {
  get(namespace: string, key: string): Promise<Uint8Array | undefined>;
  /** Returns a value that is UTF-8. */
  getText(namespace: string, key: string): Promise<string | undefined>;
  set(namespace: string, key: string, value: Uint8Array, expiry?: Expiry): Promise<void>;
  /** Returns whether the key existed. */
  delete(namespace: string, key: string): Promise<boolean>;
  /** Returns the new value. A missing key counts as 0 and gets the expiry. */
  increment(namespace: string, key: string, by: number, expiry: Expiry): Promise<number>;
  /** Returns whether the value was `expected` (undefined: missing), and was changed. */
  compareAndSet(
    namespace: string,
    key: string,
    change: Expiry & { expected: Uint8Array | undefined; value: Uint8Array | undefined },
  ): Promise<boolean>;
  /** Returns keys in the order of their bytes. */
  list(namespace: string, options: ListedKeys): Promise<string[]>;
  /** Returns the entries of these keys. With texts, those whose values have 1 MiB together, and at least one. */
  entries(namespace: string, options: ListedKeys & { withText: boolean }): Promise<readonly StoredEntry[]>;
}

interface Expiry {
  /** Milliseconds until the value expires. Undefined: it does not. */
  expiresInMs?: number | undefined;
}

interface ListedKeys {
  prefix: string;
  after?: string | undefined;
  limit: number;
}

interface StoredEntry {
  readonly key: string;
  /** Bytes of the value. */
  readonly size: number;
  readonly expiresInMs: number | undefined;
  /** The value, if it was asked for and is UTF-8. */
  readonly text: string | undefined;
}

/** Collections of texts with vectors. Each plugin has its own. Each call runs `work` in one transaction. */
export interface VectorsPort {
  read<T>(plugin: string, work: (vectors: CollectionsPort) => Promise<T>): Promise<T>;
  write<T>(plugin: string, work: (vectors: CollectionsPort) => Promise<T>): Promise<T>;
}

/**
 * The collections of one plugin. Throws `NotFoundException`, `VectorModelMismatch`, `VectorsUnavailable`,
 * `ValidationError` and `StorageFull`.
 */
export interface CollectionsPort {
  /** Makes a collection unless it exists. */
  ensure(name: string, space: { readonly model: string; readonly dimensions: number }): Promise<unknown>;
  list(page: { readonly after?: string | undefined; readonly limit: number }): Promise<readonly CollectionRow[]>;
  /** Returns whether it existed. */
  delete(name: string): Promise<boolean>;
  /** Adds chunks, or replaces those with the same ids. */
  upsert(name: string, model: string, chunks: readonly NewChunkRow[]): Promise<unknown>;
  /** Returns how many chunks were removed. */
  remove(name: string, selection: { readonly ids: readonly string[] } | { readonly document: string }): Promise<number>;
  chunks(
    name: string,
    page: { readonly document: string | undefined; readonly after: string | undefined; readonly limit: number },
  ): Promise<readonly ChunkRow[]>;
  search(name: string, query: VectorQuery): Promise<readonly FoundRow[]>;
}

export interface CollectionRow {
  readonly name: string;
  readonly model: string;
  readonly dimensions: number;
  readonly chunks: number;
  readonly bytes: number;
}

export interface ChunkRow {
  readonly id: string;
  readonly document: string | null;
  readonly text: string;
  readonly metadata: Metadata;
}

export interface NewChunkRow extends Omit<ChunkRow, 'document'> {
  readonly document?: string | undefined;
  readonly vector: Float32Array;
}

export interface FoundRow extends ChunkRow {
  readonly score: number;
}

export interface VectorQuery {
  readonly vector: Float32Array | undefined;
  readonly model?: string | undefined;
  readonly text?: string | undefined;
  readonly filter: VectorFilter | undefined;
  readonly limit: number;
  /** Called with the collection once it is found. */
  readonly onFound?: ((collection: CollectionRow) => void) | undefined;
}

/** The stored media of the application. Each call runs `work` in one transaction. Only `write` may change rows. */
export interface RepositoriesPort {
  read<T>(work: (repositories: MediaRepositories) => Promise<T>): Promise<T>;
  write<T>(work: (repositories: MediaRepositories) => Promise<T>): Promise<T>;
}

/** The methods throw `NotFoundException`, `MediaIdAlreadyExistsException` and `ValidationError`. */
export interface MediaRepositories {
  readonly media: {
    exists(id: string): Promise<boolean>;
    create(id: string, mediaType: string): Promise<void>;
    delete(id: string): Promise<void>;
  };
  readonly videos: {
    getMetadata(mediaId: string): Promise<VideoRow>;
    list(page: PageOf<string>): Promise<VideoRow[]>;
    save(video: NewVideoRow): Promise<{ readonly media_id: string }>;
  };
  readonly captions: {
    read(id: number): Promise<CaptionRow>;
    list(mediaId: string, page: PageOf<Pick<CaptionRow, 'timestamp' | 'id'>>): Promise<CaptionRow[]>;
    saveAll(captions: readonly NewCaptionRow[]): Promise<CaptionRow[]>;
    delete(id: number): Promise<void>;
  };
  readonly transcripts: {
    read(id: number): Promise<TranscriptRow>;
    listInfos(mediaId: string, page: PageOf<number>): Promise<TranscriptInfoRow[]>;
    save(transcript: NewTranscriptRow): Promise<TranscriptRow>;
    delete(id: number): Promise<void>;
  };
}

/** The first `limit` entries after `after`. */
export interface PageOf<After> {
  readonly after?: After | undefined;
  readonly limit: number;
}

export interface VideoRow {
  readonly media_id: string;
  readonly path: string | null;
  readonly url: string | null;
  readonly title: string | null;
  readonly description: string | null;
}
export type NewVideoRow = Omit<VideoRow, 'media_id'> & { readonly media_id?: string | undefined };

export interface CaptionRow {
  readonly id: number;
  readonly media_id: string | null;
  readonly model: string;
  readonly frame_id: number;
  readonly caption: string;
  /** Seconds. */
  readonly timestamp: number;
  readonly caption_type: string;
}
export type NewCaptionRow = Omit<CaptionRow, 'id'>;

export interface TranscriptInfoRow {
  readonly id: number;
  readonly media_id: string | null;
  readonly model: string;
  readonly language: string;
  readonly language_confidence: number;
  readonly transcript_type: string;
}
export interface TranscriptRow extends TranscriptInfoRow {
  readonly transcript: string;
  readonly segments: readonly unknown[];
}
export type NewTranscriptRow = Omit<TranscriptRow, 'id'>;

/**
 * Requests to other servers, with limits of time, size and redirects. A private address is reached only if the
 * operator names it.
 */
export interface HttpPort {
  /** Sends a request. Resolves when the whole answer has arrived. */
  fetch(request: HttpRequest, options: HttpOptions): Promise<HttpResponse>;
  /** Sends a request. Resolves when the head of the answer has arrived. The signal ends the exchange also later. */
  open(request: HttpRequest & { readonly followRedirects: boolean }, options: HttpOptions): Promise<HttpExchange>;
}

export interface HttpOptions {
  /** Returns the reason to refuse a URL. It is called for each redirect as well. */
  readonly refusalOf: (url: URL) => string | undefined;
  /** Returns whether the operator names the URL's host, so that its private address may be reached. */
  readonly isNamed: (url: URL) => boolean;
  readonly signal: AbortSignal;
  /** The position in a distributed trace, which only servers get that the operator allows. */
  readonly traceparent?: string | undefined;
}

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Uint8Array | undefined;
}

export interface HttpResponse {
  readonly status: number;
  /** After redirects. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
}

export interface HttpExchange {
  readonly head: Omit<HttpResponse, 'body'> & { readonly statusText: string; readonly redirected: boolean };
  readonly body: {
    /**
     * Resolves with the next bytes: when there are `least` of them, or with those before the end. At most `most`. Empty
     * at the end. `onArrived` gets the number of bytes that the host holds in addition.
     */
    read(least: number, most: number, onArrived: (bytes: number) => void): Promise<Uint8Array>;
    /** Closes the connection. */
    close(): void;
  };
}

export interface DeploymentCallOptions extends RequestContext {
  readonly signal: AbortSignal;
  /** The model that the call is for, of a deployment with many. */
  readonly multiplexedModelId?: string | undefined;
  /** Places that the invocation has reserved. The call uses the place at its deployment. */
  readonly places?: KeptPlaces | undefined;
  /** Called with the progress of the call: while it waits for a model (`loading`), and then its own (`running`). */
  readonly onProgress?:
    | ((progress: { readonly stage: 'loading' | 'running'; readonly fraction: number | undefined }) => void)
    | undefined;
}

/** A deployed model, as invocations use it. */
export interface DeploymentPort {
  call(method: string, args: Record<string, unknown>, options: DeploymentCallOptions): Promise<unknown>;
  /** Yields batches. A batch has all values since the previous batch. */
  stream(
    method: string,
    args: Record<string, unknown>,
    options: DeploymentCallOptions,
  ): AsyncIterable<readonly unknown[], unknown>;
}

/** The media of one invocation. Disposal removes the files. */
export interface MediaScopePort {
  open(source: MediaSource, options: OpenMediaOptions): Promise<VideoPort>;
  openImage(source: MediaSource, options: OpenMediaOptions): Promise<ImagePort>;
  /** Opens an image whose file the caller has. All such files of a scope together have a limit. */
  decodeImage(file: Uint8Array, options: WorkOptions): Promise<ImagePort>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface WorkOptions {
  readonly signal: AbortSignal;
  /** The position in a distributed trace. */
  readonly traceparent?: string | undefined;
}

export interface OpenMediaOptions extends WorkOptions {
  readonly files: ReadonlyMap<string, UploadedFile>;
  /**
   * Returns the reason to refuse a URL. It is called for each redirect as well. Without it only the operator's rules
   * apply.
   */
  readonly refusalOf?: ((url: URL) => string | undefined) | undefined;
}

/** Exactly one of `path`, `url` and `content`. */
export interface MediaSource {
  readonly path?: string;
  readonly url?: string;
  /** Field name of an uploaded part. */
  readonly content?: string;
  readonly media_id?: string;
}

export interface VideoInfo {
  /** Seconds. */
  readonly duration?: number | undefined;
  readonly hasAudio: boolean;
  readonly hasVideo: boolean;
  /** From the page of the video. */
  readonly title?: string | undefined;
  readonly description?: string | undefined;
}

export interface VideoPort {
  readonly info: VideoInfo;
  /** With `early` it does not wait for the end of decoding that takes a while. */
  extractAudio(channels: 'mix' | 'separate', options: WorkOptions & { readonly early: true }): Promise<AudioPort>;
  readonly facts: VideoFacts;
  /** Decodes frames, each when it is asked for. Throws `InvalidArguments` for options that are not valid. */
  frames(
    options: FrameOptions,
    work: WorkOptions & {
      /** Called with about how many pixels were decoded for the next frame, or to find that there is none. */
      readonly onDecoded?: (pixels: number) => void;
    },
  ): FramesPort;
  /** Decodes frames as {@link frames} does, to files. */
  frameFiles(
    options: FrameFileOptions,
    work: WorkOptions & { readonly onDecoded?: (pixels: number) => void },
  ): AsyncGenerator<FrameFilePort, void, undefined>;
  /** Returns the embedded subtitles of a track in SubRip. */
  subtitles(track: number | undefined, work: WorkOptions): Promise<string>;
}

export type FramesPort = AsyncGenerator<FramePort, void, undefined>;

export interface FramePort {
  /** Seconds from the start of the file. */
  readonly time: number;
  readonly image: FrameImagePort;
}

export interface FrameFilePort {
  /** Seconds from the start of the file. */
  readonly time: number;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  readonly file: Uint8Array;
}

export interface FrameImagePort extends ImagePort {
  /** Removes its file. */
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ImageInfo {
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  /** The encoding of the file: `png`, `mjpeg` … */
  readonly format: string;
}

export interface ImagePort {
  readonly info: ImageInfo;
  /** Returns the red, green and blue value of each pixel at this size. */
  pixels(size: { readonly width: number; readonly height: number }, options: WorkOptions): Promise<Uint8Array>;
  /** Returns the file of the image in another form. Throws `InvalidArguments` for an encoding that is not valid. */
  encode(encoding: ImageEncoding, options: WorkOptions): Promise<Uint8Array>;
  /** Returns the image as an argument of `chat`, scaled down if it is very large. */
  forModel(options: WorkOptions): Promise<ImageReference>;
}

export interface AudioPort {
  /** Seconds. While the audio is being decoded, it is what the media says. */
  readonly duration: number;
  readonly reference: AudioReference | GrowingAudio;
}

/** Takes an answer that is bytes. It checks the head, and throws `OutputError`. */
export interface AnswerPort {
  begin(head: {
    readonly mediaType: string;
    readonly status: number;
    readonly headers: readonly (readonly [name: string, value: string])[];
  }): void;
  /** Resolves when there is room for more. */
  send(bytes: Uint8Array): Promise<void>;
}

/** A file part of a request. The host stores the file. */
export interface UploadedFile {
  readonly path: string;
  readonly filename?: string | undefined;
  readonly mimeType?: string | undefined;
  readonly bytes: number;
}
