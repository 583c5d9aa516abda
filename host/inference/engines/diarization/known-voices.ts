import { cosine } from './clusters.ts';

/** Vectors of one voice, each of the length 1. */
export type Voice = readonly Float32Array[];

/**
 * Returns the index of the known voice that each voice is most like, if the mean similarity (cosine) of their vectors
 * reaches the threshold. This is the measure by which two clusters become one, so that the threshold means the same.
 * Two voices may be the same known one: both are parts of a speaker that the clustering did not join.
 */
export function matchKnown(
  voices: readonly Voice[],
  known: readonly Voice[],
  threshold: number,
): (number | undefined)[] {
  const knownMeans = known.map(meanOf);
  return voices.map((voice) => {
    const mean = meanOf(voice);
    const similarities = knownMeans.map((one) => cosine(one, mean));
    const best = similarities.indexOf(Math.max(...similarities));
    return (similarities[best] ?? -Infinity) >= threshold ? best : undefined;
  });
}

/** Returns the mean of vectors. The cosine of two means is the mean cosine of their vectors. */
function meanOf(vectors: Voice): Float32Array {
  const mean = new Float32Array(vectors[0]?.length ?? 0);
  for (const vector of vectors)
    for (let at = 0; at < mean.length; at += 1) mean[at] = (mean[at] ?? 0) + (vector[at] ?? 0) / vectors.length;
  return mean;
}
