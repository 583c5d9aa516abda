import type { AudioReference } from '../schemas/asr.ts';

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
