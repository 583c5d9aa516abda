import type { FrameOptions, VideoFacts } from '../../../base/schemas/index.ts';
import { DecodedAudio } from '../decoded-audio.ts';
import { DecodedImage, type HeldImage } from '../decoded-image.ts';
import type { AudioChannels, VideoMedia } from '../types.ts';

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
      yield { time, image: new DecodedImage(await image.forModel(work), () => image[Symbol.asyncDispose]()) };
  }

  /** Ends running work and removes the files. May be called twice. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#remove();
  }
}
