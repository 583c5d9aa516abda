/** Features of a voice: the logarithms of 80 bands for each 10 ms, as 3D-Speaker's models were trained with. */
export const BANDS = 80;
/** Samples of a frame at 16 kHz, and from the start of a frame to the next one. */
export const FRAME_LENGTH = 400;
export const FRAME_SHIFT = 160;

const SAMPLE_RATE = 16_000;
const FFT_SIZE = 512;
const BINS = FFT_SIZE / 2;
const LOWEST_HZ = 20;
const HIGHEST_HZ = SAMPLE_RATE / 2;
const PRE_EMPHASIS = 0.97;
const FLOOR = 1.1920929e-7;

const melOf = (hz: number): number => 1127 * Math.log(1 + hz / 700);

/** Kaldi's window "povey". */
const WINDOW = Float64Array.from(
  { length: FRAME_LENGTH },
  (_, at) => (0.5 - 0.5 * Math.cos((2 * Math.PI * at) / (FRAME_LENGTH - 1))) ** 0.85,
);

interface Band {
  readonly firstBin: number;
  readonly weights: Float64Array;
}

const FILTERS = triangles();

function triangles(): Band[] {
  const [low, high] = [melOf(LOWEST_HZ), melOf(HIGHEST_HZ)];
  const width = (high - low) / (BANDS + 1);
  return Array.from({ length: BANDS }, (_, band) => {
    const center = low + (band + 1) * width;
    const weights: number[] = [];
    let firstBin = -1;
    for (let bin = 0; bin < BINS; bin += 1) {
      const weight = 1 - Math.abs(melOf((bin * SAMPLE_RATE) / FFT_SIZE) - center) / width;
      if (weight <= 0) continue;
      if (firstBin < 0) firstBin = bin;
      weights.push(weight);
    }
    return { firstBin, weights: Float64Array.from(weights) };
  });
}

/** Returns the number of frames of `samples` samples. */
export const frameCount = (samples: number): number =>
  samples < FRAME_LENGTH ? 0 : 1 + Math.floor((samples - FRAME_LENGTH) / FRAME_SHIFT);

/** Returns the features of samples in [−1, 1] at 16 kHz: one row of {@link BANDS} numbers for each frame. */
export function filterBank(samples: Float32Array): Float32Array {
  const frames = frameCount(samples.length);
  const features = new Float32Array(frames * BANDS);
  const re = new Float64Array(FFT_SIZE);
  const im = new Float64Array(FFT_SIZE);
  for (let frame = 0; frame < frames; frame += 1) {
    loadFrame(samples, frame * FRAME_SHIFT, re);
    im.fill(0);
    transform(re, im);
    for (const [band, { firstBin, weights }] of FILTERS.entries()) {
      let energy = 0;
      for (let at = 0; at < weights.length; at += 1) {
        const [x = 0, y = 0] = [re[firstBin + at], im[firstBin + at]];
        energy += (weights[at] ?? 0) * (x * x + y * y);
      }
      features[frame * BANDS + band] = Math.log(Math.max(energy, FLOOR));
    }
  }
  return features;
}

/** Returns the kept rows of features, from which the mean over time is subtracted. */
export function centredRows(features: Float32Array, rows: readonly number[]): Float32Array {
  const kept = new Float32Array(rows.length * BANDS);
  for (const [at, row] of rows.entries()) kept.set(features.subarray(row * BANDS, (row + 1) * BANDS), at * BANDS);
  for (let band = 0; band < BANDS; band += 1) {
    let sum = 0;
    for (let at = band; at < kept.length; at += BANDS) sum += kept[at] ?? 0;
    for (let at = band; at < kept.length; at += BANDS) kept[at] = (kept[at] ?? 0) - sum / rows.length;
  }
  return kept;
}

/** Copies a frame without its mean, with its high frequencies emphasised, under the window. */
function loadFrame(samples: Float32Array, start: number, out: Float64Array): void {
  let sum = 0;
  for (let at = 0; at < FRAME_LENGTH; at += 1) sum += samples[start + at] ?? 0;
  const mean = sum / FRAME_LENGTH;
  let before = (samples[start] ?? 0) - mean;
  for (let at = 0; at < FRAME_LENGTH; at += 1) {
    const value = (samples[start + at] ?? 0) - mean;
    out[at] = (value - PRE_EMPHASIS * before) * (WINDOW[at] ?? 0);
    before = value;
  }
  out.fill(0, FRAME_LENGTH);
}

const HALF = FFT_SIZE / 2;
const COSINES = Float64Array.from({ length: HALF }, (_, at) => Math.cos((2 * Math.PI * at) / FFT_SIZE));
const SINES = Float64Array.from({ length: HALF }, (_, at) => -Math.sin((2 * Math.PI * at) / FFT_SIZE));
const REVERSED = Uint16Array.from({ length: FFT_SIZE }, (_, at) => {
  let [rest, reversed] = [at, 0];
  for (let bit = 1; bit < FFT_SIZE; bit *= 2) {
    reversed = reversed * 2 + (rest % 2);
    rest = Math.floor(rest / 2);
  }
  return reversed;
});

/** Transforms in place (radix 2, decimation in time). */
function transform(re: Float64Array, im: Float64Array): void {
  for (let at = 0; at < FFT_SIZE; at += 1) {
    const other = REVERSED[at] ?? 0;
    if (other <= at) continue;
    [re[at], re[other]] = [re[other] ?? 0, re[at] ?? 0];
    [im[at], im[other]] = [im[other] ?? 0, im[at] ?? 0];
  }
  for (let size = 2; size <= FFT_SIZE; size *= 2) {
    const half = size / 2;
    const stride = FFT_SIZE / size;
    for (let start = 0; start < FFT_SIZE; start += size) {
      for (let at = 0; at < half; at += 1) {
        const [cosine = 0, sine = 0] = [COSINES[at * stride], SINES[at * stride]];
        const [low, high] = [start + at, start + at + half];
        const [x = 0, y = 0] = [re[high], im[high]];
        const turnedRe = x * cosine - y * sine;
        const turnedIm = x * sine + y * cosine;
        const [baseRe = 0, baseIm = 0] = [re[low], im[low]];
        re[high] = baseRe - turnedRe;
        im[high] = baseIm - turnedIm;
        re[low] = baseRe + turnedRe;
        im[low] = baseIm + turnedIm;
      }
    }
  }
}
