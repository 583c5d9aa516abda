/** The settings for the vectors of one call. */
export interface VectorSettings {
  /** Numbers of a vector that are kept. Undefined: all. */
  readonly dimensions: number | undefined;
  /** Whether a vector gets the length 1. */
  readonly isNormalized: boolean;
}

/** Numbers of a normalised vector are rounded to 8 decimals, as exact as its 32-bit floats. It halves their JSON. */
const SCALE = 1e8;

/** Returns a vector as the caller wants it. A vector of zeros stays as it is. */
export function finishedVector(vector: Float32Array, { dimensions, isNormalized }: VectorSettings): number[] {
  const kept = Array.from(dimensions === undefined ? vector : vector.subarray(0, dimensions));
  if (!isNormalized) return kept;
  const length = Math.hypot(...kept);
  return length === 0 ? kept : kept.map((value) => Math.round((value / length) * SCALE) / SCALE);
}

/** Returns the parts of `values` with `dimensions` numbers each. */
export function vectorsOf(values: Float32Array, dimensions: number): Float32Array[] {
  return Array.from({ length: values.length / dimensions }, (_, at) =>
    values.subarray(at * dimensions, (at + 1) * dimensions),
  );
}
