import { type AanaError, fail } from '../../../../base/core/errors.ts';
import type { EncodedAudio } from '../../../../base/schemas/index.ts';
import { G711 } from './g711.ts';
import { Resampler } from './resampler.ts';

export interface PcmFormat {
  /** Of mono samples: little-endian 16-bit integers, or 32-bit floats in [−1, 1], or the bytes of G.711. */
  readonly encoding: 'pcm_s16le' | 'pcm_f32le' | 'g711_ulaw' | 'g711_alaw';
  /** In Hz. */
  readonly sampleRate: number;
}

/** Rate of the models, in Hz. */
const RATE = 16_000;
/** Samples of one part of the output: 0.1 s, so that a client with tiny messages causes no more work than others. */
const PART_SAMPLES = RATE / 10;
/** Samples that are decoded at a time, so that the memory does not depend on the length of messages. */
const STEP_SAMPLES = 4096;

type ReadSample = (bytes: Buffer, at: number) => number;
const SAMPLES: Readonly<Record<PcmFormat['encoding'], { readonly bytes: number; readonly read: ReadSample }>> = {
  pcm_s16le: { bytes: 2, read: (bytes, at) => bytes.readInt16LE(at) / 32_768 },
  pcm_f32le: { bytes: 4, read: (bytes, at) => bytes.readFloatLE(at) },
  g711_ulaw: { bytes: 1, read: (bytes, at) => G711.ulaw[bytes[at]!]! },
  g711_alaw: { bytes: 1, read: (bytes, at) => G711.alaw[bytes[at]!]! },
};

/** Turns the PCM of a client into parts of 16-bit samples at 16 kHz, each of 0.1 s but the last one. */
export class PcmReader {
  readonly #sample: (typeof SAMPLES)[PcmFormat['encoding']];
  readonly #resampler: Resampler | undefined;
  readonly #decoded = new Float32Array(STEP_SAMPLES);
  readonly #part = new Int16Array(PART_SAMPLES);
  readonly #rate: number;
  #length = 0;
  #count = 0;

  constructor({ encoding, sampleRate }: PcmFormat) {
    this.#rate = sampleRate;
    this.#sample = SAMPLES[encoding];
    this.#resampler = sampleRate === RATE ? undefined : new Resampler(sampleRate, RATE);
  }

  /** Seconds of audio so far. */
  get seconds(): number {
    return this.#count / this.#rate;
  }

  /** Takes the bytes of a message. Throws `InvalidAudio` for half a sample, and for a value that is not a number. */
  *read(message: Buffer): Generator<EncodedAudio> {
    const { bytes, read } = this.#sample;
    if (message.length % bytes !== 0)
      throw invalidAudio(`a message has whole samples of ${bytes} bytes, this one has ${message.length} bytes`);
    const count = message.length / bytes;
    for (let from = 0; from < count; from += STEP_SAMPLES) {
      const decoded = this.#decoded.subarray(0, Math.min(STEP_SAMPLES, count - from));
      for (let at = 0; at < decoded.length; at += 1) decoded[at] = finite(read(message, (from + at) * bytes));
      this.#count += decoded.length;
      yield* this.#parts(this.#resampler?.push(decoded) ?? decoded);
    }
  }

  /** Returns what is left at the end of the audio. */
  *end(): Generator<EncodedAudio> {
    if (this.#resampler) yield* this.#parts(this.#resampler.end());
    if (this.#length > 0) yield this.#take();
  }

  *#parts(samples: Float32Array): Generator<EncodedAudio> {
    for (let at = 0; at < samples.length; at += 1) {
      this.#part[this.#length] = Math.max(-32_768, Math.min(32_767, Math.round(samples[at]! * 32_768)));
      this.#length += 1;
      if (this.#length === PART_SAMPLES) yield this.#take();
    }
  }

  #take(): EncodedAudio {
    const data = Buffer.from(this.#part.buffer, 0, 2 * this.#length).toString('base64');
    this.#length = 0;
    return { encoding: 's16le', data };
  }
}

function finite(sample: number): number {
  if (!Number.isFinite(sample)) throw invalidAudio('a sample is not a number');
  return sample;
}

function invalidAudio(problem: string): AanaError {
  return fail('InvalidAudio', problem);
}
