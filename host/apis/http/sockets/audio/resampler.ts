/** Zero crossings of the filter on each side. More of them make the edge of the filter steeper. */
const ZERO_CROSSINGS = 24;
/** Edge of the filter, as a part of the lower one of both Nyquist frequencies. */
const CUTOFF = 0.9;
/** Shape of the Kaiser window. With 8, what lies beyond the edge is damped by about 80 dB. */
const KAISER_BETA = 8;
/** Positions between two samples for which the filter is stored. Others are interpolated. */
const PHASES = 256;

/**
 * Changes the sample rate of a stream by a low-pass filter, a sinc with a Kaiser window, so that no frequency folds
 * into another one. Sample `n` of the output lies at the same time as in the input, because the filter is symmetric.
 * Source: Julius O. Smith, "Digital Audio Resampling", https://ccrma.stanford.edu/~jos/resample/.
 */
export class Resampler {
  readonly #from: number;
  readonly #to: number;
  /** Samples before and after a position that its filter reads. */
  readonly #half: number;
  /** The filter at each phase, one after another. */
  readonly #filters: Float32Array;
  /** Samples that a filter may still read, and those that follow. */
  #window: Float32Array;
  #length: number;
  /** Position of the next output in the window: a whole sample, and a part of it in units of `1 / to`. */
  #at: number;
  #part = 0;
  #output = new Float32Array(0);

  /** `from` and `to` are rates in Hz. */
  constructor(from: number, to: number) {
    const cutoff = CUTOFF * Math.min(1, to / from);
    this.#from = from;
    this.#to = to;
    this.#half = Math.ceil(ZERO_CROSSINGS / cutoff);
    this.#filters = filtersOf(this.#half, cutoff);
    this.#window = new Float32Array(4 * this.#half);
    this.#length = this.#half - 1; // silence before the stream
    this.#at = this.#half - 1;
  }

  /** Returns the output that the input so far makes possible. It is overwritten by the next call. */
  push(input: Float32Array): Float32Array {
    this.#append(input);
    const most = Math.ceil(((this.#length - this.#at) * this.#to) / this.#from) + 1;
    if (this.#output.length < most) this.#output = new Float32Array(most);
    let count = 0;
    for (; this.#at + this.#half < this.#length; count += 1) {
      this.#output[count] = this.#filtered();
      this.#part += this.#from;
      this.#at += Math.floor(this.#part / this.#to);
      this.#part %= this.#to;
    }
    this.#forget();
    return this.#output.subarray(0, count);
  }

  /** Returns the output at the end of the stream. */
  end(): Float32Array {
    return this.push(new Float32Array(this.#half));
  }

  #append(input: Float32Array): void {
    const length = this.#length + input.length;
    if (length > this.#window.length) {
      const larger = new Float32Array(2 * length);
      larger.set(this.#window.subarray(0, this.#length));
      this.#window = larger;
    }
    this.#window.set(input, this.#length);
    this.#length = length;
  }

  /** Drops the samples that no filter reads any more. */
  #forget(): void {
    const first = Math.min(this.#length, this.#at - this.#half + 1);
    this.#window.copyWithin(0, first, this.#length);
    this.#length -= first;
    this.#at -= first;
  }

  #filtered(): number {
    const position = (this.#part / this.#to) * PHASES;
    const phase = Math.floor(position);
    const weight = position - phase;
    const taps = 2 * this.#half;
    const near = phase * taps;
    const first = this.#at - this.#half + 1;
    let sum = 0;
    for (let tap = 0; tap < taps; tap += 1) {
      const low = this.#filters[near + tap]!;
      const high = this.#filters[near + taps + tap]!;
      sum += this.#window[first + tap]! * (low + weight * (high - low));
    }
    return sum;
  }
}

/** Returns the filters for positions from one sample to the next one, both included. Each one sums up to 1. */
function filtersOf(half: number, cutoff: number): Float32Array {
  const taps = 2 * half;
  const filters = new Float32Array((PHASES + 1) * taps);
  for (let phase = 0; phase <= PHASES; phase += 1) {
    const filter = filters.subarray(phase * taps, (phase + 1) * taps);
    let sum = 0;
    for (let tap = 0; tap < taps; tap += 1) {
      const distance = tap - half + 1 - phase / PHASES;
      filter[tap] = sinc(cutoff * distance) * kaiser(distance / half);
      sum += filter[tap]!;
    }
    for (let tap = 0; tap < taps; tap += 1) filter[tap]! /= sum;
  }
  return filters;
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

/** The Kaiser window from -1 to 1, not normalised. */
function kaiser(x: number): number {
  return Math.abs(x) >= 1 ? 0 : bessel(KAISER_BETA * Math.sqrt(1 - x * x));
}

/** The modified Bessel function of the first kind and order 0, by its power series. */
function bessel(x: number): number {
  let sum = 1;
  let term = 1;
  for (let k = 1; term > 1e-12 * sum; k += 1) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}
