/** Bounds of the number of clusters, and the least similarity of two clusters that become one. */
export interface ClusterLimits {
  readonly threshold: number;
  readonly least: number;
  readonly most: number;
}

interface Merge {
  readonly one: number;
  readonly other: number;
  readonly similarity: number;
}

/** Returns the cosine of two vectors of length 1. */
export function cosine(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}

/** Similarities of all pairs of vectors. */
export type Similarities = readonly Float32Array[];

/**
 * Returns the similarities of vectors of length 1. Calls `pause` after each row, because many vectors take seconds.
 */
export async function similaritiesOf(
  vectors: readonly Float32Array[],
  pause: () => Promise<void>,
): Promise<Similarities> {
  const rows = vectors.map(() => new Float32Array(vectors.length));
  for (const [at, row] of rows.entries()) {
    for (let other = 0; other <= at; other += 1) {
      const similarity = cosine(vectors[at] ?? row, vectors[other] ?? row);
      row[other] = similarity;
      (rows[other] ?? row)[at] = similarity;
    }
    await pause();
  }
  return rows;
}

/**
 * Returns the cluster of each vector, numbered from 0 in the order of their first vectors. Clusters are joined while
 * the mean similarity between their vectors reaches the threshold (average linkage), and as far as the bounds of their
 * number ask. Overwrites the similarities.
 */
export function clusterVectors(similarities: Similarities, { threshold, least, most }: ClusterLimits): number[] {
  const total = similarities.length;
  const merges = mergeAll(similarities).sort((a, b) => b.similarity - a.similarity);
  const wanted = total - merges.filter(({ similarity }) => similarity >= threshold).length;
  const count = Math.min(total, Math.max(least, Math.min(most, wanted)));
  const parents = similarities.map((_, at) => at);
  const rootOf = (at: number): number => {
    let root = at;
    while (parents[root] !== root) root = parents[root] ?? root;
    return root;
  };
  for (const { one, other } of merges.slice(0, total - count)) parents[rootOf(other)] = rootOf(one);
  const numbers = new Map<number, number>();
  return parents.map((_, at) => {
    const root = rootOf(at);
    const number = numbers.get(root) ?? numbers.size;
    numbers.set(root, number);
    return number;
  });
}

/**
 * Returns the merges that join all vectors to one cluster. Each merge names one vector of each of its clusters. A chain
 * of nearest neighbours finds them: two clusters that are each other's nearest ones stay so whatever else is merged.
 */
function mergeAll(similarities: Similarities): Merge[] {
  const count = similarities.length;
  const sizes = new Uint32Array(count).fill(1);
  const between = (one: number, other: number): number => similarities[one]?.[other] ?? -Infinity;
  const merges: Merge[] = [];
  const chain: number[] = [];
  while (merges.length < count - 1) {
    if (chain.length === 0) chain.push(sizes.findIndex((size) => size > 0));
    const top = chain.at(-1) ?? 0;
    const before = chain.at(-2);
    // The cluster before it wins a tie, so that the chain ends.
    let nearest = before ?? -1;
    for (let at = 0; at < count; at += 1) {
      if (at === top || sizes[at] === 0) continue;
      if (nearest < 0 || between(top, at) > between(top, nearest)) nearest = at;
    }
    if (nearest !== before) {
      chain.push(nearest);
      continue;
    }
    chain.splice(-2);
    merges.push({ one: top, other: nearest, similarity: between(top, nearest) });
    const [topSize = 0, otherSize = 0] = [sizes[top], sizes[nearest]];
    for (const [at, row] of similarities.entries()) {
      if (sizes[at] === 0 || at === top || at === nearest) continue;
      const mean = (between(top, at) * topSize + between(nearest, at) * otherSize) / (topSize + otherSize);
      row[top] = mean;
      (similarities[top] ?? row)[at] = mean;
    }
    sizes[top] = topSize + otherSize;
    sizes[nearest] = 0;
  }
  return merges;
}

/** Returns the mean of vectors with the length 1. */
export function centroid(vectors: readonly Float32Array[]): Float32Array {
  const sum = new Float32Array(vectors[0]?.length ?? 0);
  for (const vector of vectors) for (let at = 0; at < sum.length; at += 1) sum[at] = (sum[at] ?? 0) + (vector[at] ?? 0);
  return normalised(sum);
}

/** Returns the vector with the length 1. A vector of zeros stays as it is. */
export function normalised(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}
