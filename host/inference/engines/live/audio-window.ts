/**
 * The part of a stream's audio that the next pass hears: mono at 16 kHz. Times are in seconds from the stream's start.
 */
export class AudioWindow {
  #samples = new Float32Array(0);
  /** Samples of the stream before the window. */
  #dropped = 0;
  readonly #rate: number;

  constructor(rate: number) {
    this.#rate = rate;
  }

  get start(): number {
    return this.#dropped / this.#rate;
  }

  get end(): number {
    return (this.#dropped + this.#samples.length) / this.#rate;
  }

  append(samples: Float32Array): void {
    const joined = new Float32Array(this.#samples.length + samples.length);
    joined.set(this.#samples);
    joined.set(samples, this.#samples.length);
    this.#samples = joined;
  }

  /** Returns the samples from `start` to `end`, as far as the window has them. */
  between(start: number, end: number): Float32Array {
    return this.#samples.subarray(this.#at(start), this.#at(end));
  }

  /** Drops the audio before `time`. */
  dropBefore(time: number): void {
    const count = this.#at(time);
    this.#samples = this.#samples.slice(count);
    this.#dropped += count;
  }

  #at(time: number): number {
    const at = Math.round(time * this.#rate) - this.#dropped;
    return Math.min(this.#samples.length, Math.max(0, at));
  }
}
