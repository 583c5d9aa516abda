import type { AudioReference } from './media-references.ts';

/**
 * Audio for a replica while it is decoded. Its files are those of the later {@link AudioReference} and grow at their
 * ends. Only the host makes such references, for deployments that say that they take them.
 */
export interface GrowingAudioReference {
  readonly channels: readonly { readonly artifact: { readonly id: string } }[];
  readonly sample_rate: AudioReference['sample_rate'];
  readonly growing: {
    /**
     * Id of a file that appears, complete, when the decoder has ended well: the number of samples of each channel, in
     * decimal digits with spaces between. When the decoder fails, the files of the channels are removed.
     */
    readonly end: string;
    /** Samples of a channel at the end, as the media says. They may be more or fewer. */
    readonly expected_samples: number;
  };
}

/** Audio that is being decoded, as an argument of a call. */
export class GrowingAudio {
  /** The reference for methods that read the rest of the audio when it comes. */
  readonly early: GrowingAudioReference;
  /** Rejects with the reason why the audio does not become complete. */
  readonly complete: Promise<AudioReference>;
  #whole: AudioReference | undefined;

  constructor(early: GrowingAudioReference, complete: Promise<AudioReference>) {
    this.early = early;
    this.complete = complete;
    complete.then(
      (whole) => (this.#whole = whole),
      () => {}, // those who wait for it get the reason
    );
  }

  /** The complete audio; undefined until it is there. */
  get whole(): AudioReference | undefined {
    return this.#whole;
  }
}
