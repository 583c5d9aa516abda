import type { RunContext } from '../run-context.ts';
import type { ClientSecrets } from '../../../data/access/index.ts';
import type { ForCallers, RequestContext } from '../../../base/core/request-context.ts';
import type { UploadedFile } from '../../../endpoints/registry/index.ts';
import type { HostedToolsPolicy } from '../hosted-tools.ts';
import type { UserResponses } from '../responses/stored/stored-responses.ts';
import type { UserBackground } from '../responses/background/background-responses.ts';
import type { UserBatches } from '../batches/batches.ts';
import type { UserFiles, UserUploads } from '../../../data/files/index.ts';
import type { SearchPorts } from '../vector-stores/search-stores.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import type { AudioReference, FrameOptions, ImageReference } from '../../../base/schemas/index.ts';

/** Settings of the routes below `/v1`. */
export interface OpenAiRoutesOptions {
  /** Whether the routes are served. Otherwise they say that they are off. */
  readonly enabled: boolean;
  /** Whether a parameter without effect is refused. Otherwise a header of the answer names it. */
  readonly strict: boolean;
  /** What happens to a request with tools that only the servers of others run. */
  readonly hostedTools: HostedToolsPolicy;
  readonly models: ModelDirectory;
  /** Makes and reads the secrets with which pages open realtime sessions. */
  readonly clientSecrets: ClientSecrets;
  /** Seconds of silence after which a stream of a response begins with the events that it is created. */
  readonly createdAfterS: number;
  /** Audio in dialogs: the deployment that transcribes it, null for none, and the most bytes in one request. */
  readonly audioInput: { readonly deployment: string | null; readonly max_bytes: number };
  /** Decodes the audio of an uploaded file. Throws `VideoReadingException` and `AudioReadingException`. */
  readonly openAudio: (file: UploadedFile, context: RunContext) => Promise<OpenedAudio>;
  /**
   * Like `openAudio`, but it does not wait for the end of decoding that takes a while. The signal stops the decoder.
   */
  readonly openSound: (
    file: UploadedFile,
    context: RunContext,
    track?: { readonly audio_track?: number | null | undefined },
  ) => Promise<OpenedSound>;
  /** Images in dialogs: their most number and bytes in a request, and whether they are fetched from addresses. */
  readonly imageInput: { readonly max_images: number; readonly max_bytes: number; readonly fetch: boolean };
  /**
   * Opens images for a request. Throws `ImageReadingException`, `ImageTooLargeException` and the errors of a download.
   */
  readonly imageScope: (context: RequestContext) => Promise<ImageScope>;
  /** Returns the media type of an image that the server may be able to open, by the first bytes; else undefined. */
  readonly imageType: (bytes: Uint8Array) => string | undefined;
  /** Videos in dialogs: the most frames of all of a request; 0 for none. Their bytes count as those of images do. */
  readonly videoInput: { readonly max_frames: number };
  /** Opens videos for a request. Throws `VideoReadingException` and the errors of a download. */
  readonly videoScope: (context: RequestContext) => Promise<VideoScope>;
  readonly responses: ForCallers<UserResponses>;
  /** The responses that tasks make. */
  readonly background: ForCallers<UserBackground>;
  readonly files: ForCallers<UserFiles>;
  readonly uploads: ForCallers<UserUploads>;
  readonly batches: ForCallers<UserBatches>;
  /** The vector stores, and what searches of them need. */
  readonly vectorStores: SearchPorts;
  /** Most requests of a batch. */
  readonly maxBatchRequests: number;
}

/** Decoded audio, as an argument of `transcribe`. Disposing it removes its files. */
export interface OpenedAudio extends AudioReference, AsyncDisposable {
  /** Seconds. */
  readonly duration: number;
}

/** Audio that is decoded or being decoded. Disposing it removes its files. */
export interface OpenedSound extends AsyncDisposable {
  readonly hasAudio: boolean;
  /** Seconds. Exact after a call that used the audio. */
  readonly duration: number;
  /** An argument of a deployment's method. */
  readonly reference: object;
}

/** The videos of one request. Disposing it removes their files and those of their frames. */
export interface VideoScope extends AsyncDisposable {
  open(source: { readonly url: string } | UploadedFile, signal: AbortSignal): Promise<OpenedVideo>;
}

export interface OpenedVideo {
  /** Seconds. Undefined if the file does not say it. */
  readonly duration: number | undefined;
  /** Decodes frames, each when it is asked for. */
  frames(options: FrameOptions, work: { readonly signal: AbortSignal }): AsyncIterable<DecodedFrame>;
}

/** A picture of a video. Disposing it removes its file. */
export interface DecodedFrame {
  /** Seconds from the start of the video. */
  readonly time: number;
  readonly image: AsyncDisposable & {
    forModel(work: { readonly signal: AbortSignal }): Promise<ImageReference>;
  };
}

/** The images of one request. Disposing it removes their files. */
export interface ImageScope extends AsyncDisposable {
  /** Decodes an image, as an argument of `chat`. */
  open(source: { readonly url: string } | UploadedFile, signal: AbortSignal): Promise<ImageReference>;
}
