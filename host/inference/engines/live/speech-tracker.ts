import type { NativeVoiceDetector } from '../../../../native/lib/index.ts';
import { type Region, spokenRegions, type VoiceRules } from '../speech/speech-regions.ts';

const RATE = 16_000;
/** Samples of one probability. */
const FRAME = 512;
const FRAME_S = FRAME / RATE;
/** The same rules by which the engine finds speech in files. Durations are in seconds. */
const DURATIONS = { minDurationOn: 0.25, minDurationOff: 0.1 } as const;
const DEFAULT_THRESHOLD = 0.5;
/** Silero's own distance between the probabilities at which speech begins and ends. */
const HYSTERESIS = 0.15;
/** Seconds of speech that are heard before it counts as speech. */
export const DETECTION_S: number = DURATIONS.minDurationOn;

/**
 * Follows where speech is in a stream: mono at 16 kHz. Each sample is analysed once, because the detector's state goes
 * from one part to the next. Times are in seconds from the stream's start.
 */
export class SpeechTracker {
  readonly #detector: NativeVoiceDetector;
  readonly #rules: VoiceRules;
  /** Samples after the last whole frame. */
  #rest = new Float32Array(0);
  #state: Float32Array | undefined;
  /** Of the frames from `#firstFrame` on. */
  #probabilities = new Float32Array(0);
  #firstFrame = 0;

  /** Speech begins above the probability `threshold`. */
  constructor(detector: NativeVoiceDetector, threshold: number = DEFAULT_THRESHOLD) {
    this.#detector = detector;
    this.#rules = { ...DURATIONS, onset: threshold, offset: Math.max(0, threshold - HYSTERESIS) };
  }

  /** Analyses the next samples of the stream. */
  async add(samples: Float32Array): Promise<void> {
    const joined = joinedArrays(this.#rest, samples);
    const whole = joined.length - (joined.length % FRAME);
    this.#rest = joined.slice(whole);
    if (whole === 0) return;
    const { probabilities, state } = await this.#detector.detect(joined.subarray(0, whole), 0, whole, this.#state);
    this.#state = state;
    this.#probabilities = joinedArrays(this.#probabilities, probabilities);
  }

  /** Returns where speech begins and ends after `start`; undefined for silence. */
  speechAfter(start: number): Region | undefined {
    this.#forgetBefore(start);
    const regions = spokenRegions(this.#probabilities, FRAME_S, this.#rules);
    const [first] = regions;
    const last = regions.at(-1);
    const offset = this.#firstFrame * FRAME_S;
    return first && last && { start: offset + first.start, end: offset + last.end };
  }

  #forgetBefore(time: number): void {
    const count = Math.max(0, Math.min(Math.round(time / FRAME_S) - this.#firstFrame, this.#probabilities.length));
    this.#probabilities = this.#probabilities.slice(count);
    this.#firstFrame += count;
  }
}

function joinedArrays(first: Float32Array, second: Float32Array): Float32Array<ArrayBuffer> {
  const joined = new Float32Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
