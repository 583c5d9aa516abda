import type { AudioReference } from '../../base/schemas/media-references.ts';
import { GrowingAudio, type GrowingAudioReference } from '../../base/schemas/growing-audio.ts';
import type { AudioMedia, EarlyAudio, VideoInfo } from './types.ts';

/** Decoded audio as an argument of `transcribe`, in this process and as JSON. Disposing it removes its files. */
export class DecodedAudio implements AudioReference, AsyncDisposable {
  readonly channels: AudioReference['channels'];
  readonly sample_rate: AudioReference['sample_rate'];
  readonly #duration: number;
  readonly #remove: () => Promise<void>;

  constructor({ channels, sample_rate: sampleRate }: AudioReference, duration: number, remove: () => Promise<void>) {
    this.channels = channels;
    this.sample_rate = sampleRate;
    this.#duration = duration;
    this.#remove = remove;
  }

  /** Duration in seconds. It is not part of the arguments of a call. */
  get duration(): number {
    return this.#duration;
  }

  /** Removes the files. May be called twice. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#remove();
  }
}

/** Audio of a request that is decoded or being decoded. Disposing it stops the decoder and removes the files. */
export class OpenedSound implements AsyncDisposable {
  readonly #audio: EarlyAudio;
  readonly #remove: () => Promise<void>;

  constructor(audio: EarlyAudio, remove: () => Promise<void>) {
    this.#audio = audio;
    this.#remove = remove;
  }

  /** Whether the file has an audio track. */
  get hasAudio(): boolean {
    const { reference } = this.#audio;
    return !('channels' in reference) || reference.channels.length > 0;
  }

  /** Seconds. Exact after a call that used the audio. */
  get duration(): number {
    return this.#audio.duration;
  }

  /** The audio as an argument of a deployment's method. */
  get reference(): EarlyAudio['reference'] {
    return this.#audio.reference;
  }

  /** May be called twice. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#remove();
  }
}

/** An audio track of an opened file that was decoded or is being decoded. */
export class DecodedTrack {
  /** Rejects when decoding fails. */
  readonly whole: Promise<AudioMedia>;
  readonly #early: Promise<EarlyAudio>;

  /** `growing` resolves if the files of the decoder are handed on before its end. */
  constructor(info: VideoInfo, growing: Promise<GrowingAudioReference>, whole: Promise<AudioMedia>) {
    this.whole = whole;
    const handedOn = growing.then((reference) => new EarlyTrack(reference, info.duration ?? 0, whole));
    this.#early = Promise.race([whole, handedOn]);
    this.#early.catch(() => {}); // it may be that nobody asks for it
  }

  /** Resolves when the audio can be used, at the latest when it is complete. */
  get early(): Promise<EarlyAudio> {
    return this.#early;
  }
}

class EarlyTrack implements EarlyAudio {
  readonly #growing: GrowingAudio;
  #duration: number;

  constructor(reference: GrowingAudioReference, duration: number, whole: Promise<AudioMedia>) {
    this.#duration = duration;
    const complete = whole.then((media) => {
      this.#duration = media.duration;
      return media.reference;
    });
    this.#growing = new GrowingAudio(reference, complete);
  }

  get duration(): number {
    return this.#duration;
  }

  get reference(): EarlyAudio['reference'] {
    return this.#growing.whole ?? this.#growing;
  }
}
