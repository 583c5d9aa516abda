/** Voices that the segmentation tells apart in one window. */
export const VOICES = 3;
export const CLASSES = 7;
/** Voices of each class of the segmentation: nobody, one of them, or two at once. */
const VOICES_OF_CLASS: readonly (readonly number[])[] = [[], [0], [1], [2], [0, 1], [0, 2], [1, 2]];
const PERMUTATIONS: readonly (readonly number[])[] = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
];

/** Frames in which a voice speaks without a pause. `end` is exclusive. */
export interface Run {
  readonly track: number;
  readonly start: number;
  readonly end: number;
}

/**
 * Three tracks over the whole audio, which are joined from windows that overlap. The voices of a window get the tracks
 * on which they agree most with the windows before. One person may be on several tracks, because only the order of time
 * is known here.
 */
export class VoiceTracks {
  readonly frames: number;
  /** Sums of weighted probabilities, for each frame and track. */
  readonly #sums: Float32Array;
  readonly #weights: Float32Array;

  constructor(frames: number) {
    this.frames = frames;
    this.#sums = new Float32Array(frames * VOICES);
    this.#weights = new Float32Array(frames);
  }

  /**
   * Adds a window from the log-probabilities of its classes. `start` is its first frame. Frames past the end are
   * dropped.
   */
  add(start: number, logProbabilities: Float32Array): void {
    const windowFrames = logProbabilities.length / CLASSES;
    const length = Math.min(windowFrames, this.frames - start);
    const voices = probabilitiesOfVoices(logProbabilities, length);
    const tracks = this.#bestTracks(start, voices, length);
    for (let frame = 0; frame < length; frame += 1) {
      const weight = weightOf(frame, windowFrames);
      const at = start + frame;
      this.#weights[at] = (this.#weights[at] ?? 0) + weight;
      for (let voice = 0; voice < VOICES; voice += 1) {
        const to = at * VOICES + (tracks[voice] ?? 0);
        this.#sums[to] = (this.#sums[to] ?? 0) + weight * (voices[frame * VOICES + voice] ?? 0);
      }
    }
  }

  isActive(frame: number, track: number): boolean {
    return (this.#sums[frame * VOICES + track] ?? 0) > (this.#weights[frame] ?? 0) / 2;
  }

  /** Returns how many other tracks are active in a frame. */
  othersActive(frame: number, track: number): number {
    let count = 0;
    for (let other = 0; other < VOICES; other += 1) if (other !== track && this.isActive(frame, other)) count += 1;
    return count;
  }

  /** Returns all runs by their start. */
  runs(): Run[] {
    const runs: Run[] = [];
    for (let track = 0; track < VOICES; track += 1) {
      let start = -1;
      for (let frame = 0; frame <= this.frames; frame += 1) {
        const isActive = frame < this.frames && this.isActive(frame, track);
        if (isActive && start < 0) start = frame;
        if (isActive || start < 0) continue;
        runs.push({ track, start, end: frame });
        start = -1;
      }
    }
    return runs.sort((a, b) => a.start - b.start || a.track - b.track);
  }

  /** Returns the track of each voice. */
  #bestTracks(start: number, voices: Float32Array, length: number): readonly number[] {
    const agreement = new Float64Array(VOICES * VOICES);
    for (let frame = 0; frame < length; frame += 1) {
      const weight = this.#weights[start + frame] ?? 0;
      if (weight === 0) continue;
      for (let voice = 0; voice < VOICES; voice += 1) {
        for (let track = 0; track < VOICES; track += 1) {
          const known = (this.#sums[(start + frame) * VOICES + track] ?? 0) / weight;
          const at = voice * VOICES + track;
          agreement[at] = (agreement[at] ?? 0) + (voices[frame * VOICES + voice] ?? 0) * known;
        }
      }
    }
    const scoreOf = (tracks: readonly number[]): number =>
      tracks.reduce((sum, track, voice) => sum + (agreement[voice * VOICES + track] ?? 0), 0);
    return PERMUTATIONS.reduce((best, tracks) => (scoreOf(tracks) > scoreOf(best) ? tracks : best));
  }
}

/** Returns the probability that a voice speaks, for each frame and voice. */
function probabilitiesOfVoices(logProbabilities: Float32Array, frames: number): Float32Array {
  const voices = new Float32Array(frames * VOICES);
  for (let frame = 0; frame < frames; frame += 1) {
    const classes = logProbabilities.subarray(frame * CLASSES, (frame + 1) * CLASSES);
    const most = Math.max(...classes); // also right for values that are not normalised
    const weights = classes.map((value) => Math.exp(value - most));
    const sum = weights.reduce((total, value) => total + value, 0);
    for (const [index, members] of VOICES_OF_CLASS.entries()) {
      for (const voice of members) {
        const at = frame * VOICES + voice;
        voices[at] = (voices[at] ?? 0) + (weights[index] ?? 0) / sum;
      }
    }
  }
  return voices;
}

/** Returns the weight of a frame, which is highest in the middle of its window, because both sides of it were heard. */
function weightOf(frame: number, frames: number): number {
  return 0.01 + Math.sin((Math.PI * (frame + 0.5)) / frames) ** 2;
}
