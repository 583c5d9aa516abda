import type { AudioReference } from '../schemas/asr.ts';

/** Decoded audio that somebody holds: as `transcribe` takes it, here and as JSON. Its files go when it is disposed. */
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

  /** Seconds; no part of the arguments of a call. */
  get duration(): number {
    return this.#duration;
  }

  /** May be called twice. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#remove();
  }
}
