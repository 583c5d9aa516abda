/** Bins of a 400-point spectrum. */
export const SPECTRUM_BINS = 201;

const SAMPLE_RATE_HZ = 16_000;
const FFT_POINTS = 400;
/** Slaney's mel scale: linear up to 1 kHz (mel 15), logarithmic above. */
const KNEE_MEL = 15;
const KNEE_HZ = 1_000;
const LOG_STEP = Math.log(6.4) / 27;

/**
 * Returns triangular mel filters, normalised by area: [bands, 201], row-major. They are rounded like librosa's (the
 * weight to float32, then multiplied by the norm), so that the bytes equal those in published files.
 */
export function melFilters(bands: number): Float32Array {
  const top = melOf(SAMPLE_RATE_HZ / 2);
  const edges = Array.from({ length: bands + 2 }, (_, index) =>
    hzOf(index === bands + 1 ? top : index * (top / (bands + 1))),
  );
  const filters = new Float32Array(bands * SPECTRUM_BINS);
  for (let band = 0; band < bands; band += 1) {
    const [low = 0, centre = 0, high = 0] = edges.slice(band, band + 3);
    const norm = 2 / (high - low);
    for (let bin = 0; bin < SPECTRUM_BINS; bin += 1) {
      const hz = bin * (SAMPLE_RATE_HZ / FFT_POINTS);
      const rising = -(low - hz) / (centre - low);
      const falling = (high - hz) / (high - centre);
      filters[band * SPECTRUM_BINS + bin] = Math.fround(Math.max(0, Math.min(rising, falling))) * norm;
    }
  }
  return filters;
}

function hzOf(mel: number): number {
  return mel < KNEE_MEL ? mel * (200 / 3) : KNEE_HZ * Math.exp(LOG_STEP * (mel - KNEE_MEL));
}

/** Converts to mel; only for frequencies above the knee. */
function melOf(hz: number): number {
  return KNEE_MEL + Math.log(hz / KNEE_HZ) / LOG_STEP;
}
