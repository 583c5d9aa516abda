import type {
  AsrSegment,
  FrameFileOptions,
  FrameOptions,
  ImageReference,
  VideoFacts,
} from '../../../base/schemas/index.ts';
import { fromSubtitles } from '../../../base/transcripts/index.ts';
import { DecodedAudio } from '../decoded-audio.ts';
import { DecodedImage, type HeldImage } from '../decoded-image.ts';
import type { AudioChannels, FrameFile, FrameImage, VideoMedia } from '../types.ts';

/** A decoded picture of a video. */
export interface HeldFrame {
  /** Seconds from the start of the file, as a player shows them. */
  readonly time: number;
  /** An argument of `chat`. Disposing it removes its file; otherwise the video does. */
  readonly image: HeldImage;
}

interface WorkOptions {
  readonly signal?: AbortSignal | undefined;
}

const heldImage = (reference: ImageReference, image: FrameImage): HeldImage =>
  new DecodedImage(
    reference,
    (...args) => image.encode(...args),
    () => image[Symbol.asyncDispose](),
  );

/** An opened video. Its file is fetched once for audio and frames. Disposing it removes all files that it made. */
export class HeldVideo implements AsyncDisposable {
  readonly #media: VideoMedia;
  readonly #remove: () => Promise<void>;

  constructor(media: VideoMedia, remove: () => Promise<void>) {
    this.#media = media;
    this.#remove = remove;
  }

  get facts(): VideoFacts {
    return this.#media.facts;
  }

  /** Decodes the audio track, once for each `channels`. Media without one give audio of 0 seconds. */
  async extractAudio({
    channels = 'mix',
    signal,
  }: WorkOptions & { readonly channels?: AudioChannels | undefined } = {}): Promise<DecodedAudio> {
    const { reference, duration } = await this.#media.extractAudio(channels, { signal });
    return new DecodedAudio(reference, duration, async () => {}); // later calls get the same files
  }

  /**
   * Decodes frames, each when it is asked for: `for await (const { time, image } of video.frames({ every: 1 }))`.
   * Exactly one of `every` (seconds), `count`, `times`, `scenes` and `keyframes` chooses them. Media without a video
   * track have none. Leaving the loop ends the decoder. Throws `InvalidArguments`, `MediaTooLongException` and
   * `VideoReadingException`.
   */
  async *frames(options: FrameOptions, work: WorkOptions = {}): AsyncGenerator<HeldFrame, void, undefined> {
    for await (const { time, image } of this.#media.frames(options, work))
      yield { time, image: heldImage(await image.forModel(work), image) };
  }

  /**
   * Decodes frames as {@link frames} does, to files:
   * `for await (const { time, file } of video.frameFiles({ every: 1, format: 'jpeg' }))`. The decoder makes the files,
   * which costs less than `encode` of each image.
   */
  frameFiles(options: FrameFileOptions, work: WorkOptions = {}): AsyncGenerator<FrameFile, void, undefined> {
    return this.#media.frameFiles(options, work);
  }

  /** Returns the frame at `at` seconds; default: a tenth of the duration. Undefined without a video track. */
  async thumbnail({ at, ...work }: WorkOptions & { readonly at?: number } = {}): Promise<HeldImage | undefined> {
    const time = at ?? (this.facts.duration ?? 0) / 10;
    for await (const { image } of this.frames({ times: [time] }, work)) return image;
    return undefined;
  }

  /**
   * Returns the embedded subtitles of a track as segments of a transcript. `track` counts the tracks of subtitles from
   * 0 on; default: the first one. Throws `VideoReadingException` where there is none, or where they are pictures.
   */
  async subtitles({ track, ...work }: WorkOptions & { readonly track?: number } = {}): Promise<AsrSegment[]> {
    return fromSubtitles(await this.#media.subtitles(track, work));
  }

  /** Ends running work and removes the files. May be called twice. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#remove();
  }
}
