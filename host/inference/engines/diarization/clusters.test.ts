import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { clusterVectors, cosine, normalised, similaritiesOf } from './clusters.ts';

const LIMITS = { threshold: 0.4, least: 1, most: Infinity };
const noPause = async (): Promise<void> => {};

/** Returns vectors near `groups` directions, in turns. */
function grouped(count: number, groups: number, noise: number): Float32Array[] {
  let seed = 1;
  const random = (): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647 - 0.5;
  };
  return Array.from({ length: count }, (_, at) =>
    normalised(Float32Array.from({ length: 16 }, (_unused, axis) => (axis === at % groups ? 1 : 0) + noise * random())),
  );
}

const clustersOf = async (vectors: readonly Float32Array[], limits = {}): Promise<number[]> =>
  clusterVectors(await similaritiesOf(vectors, noPause), { ...LIMITS, ...limits });

/** Joins the two most similar clusters again and again, as the definition of average linkage says. */
function slowClusters(vectors: readonly Float32Array[], threshold: number): number[] {
  const clusters = vectors.map((_, at) => [at]);
  for (;;) {
    let best = { similarity: -2, one: 0, other: 0 };
    for (const [one, members] of clusters.entries())
      for (const [other, others] of clusters.slice(0, one).entries()) {
        let sum = 0;
        for (const a of members) for (const b of others) sum += cosine(vectors[a]!, vectors[b]!);
        const similarity = sum / members.length / others.length;
        if (similarity > best.similarity) best = { similarity, one, other };
      }
    if (best.similarity < threshold || clusters.length < 2) break;
    clusters[best.other]!.push(...clusters[best.one]!);
    clusters.splice(best.one, 1);
  }
  const order = clusters.toSorted((a, b) => Math.min(...a) - Math.min(...b));
  return vectors.map((_, at) => order.findIndex((members) => members.includes(at)));
}

const Clusters = suite('clusterVectors');

Clusters('finds groups, numbered by their first vectors', async () => {
  assert.equal(await clustersOf(grouped(7, 3, 0.1)), [0, 1, 2, 0, 1, 2, 0]);
});

Clusters('joins as average linkage does, at each threshold', async () => {
  const vectors = grouped(40, 5, 1.5);
  for (const threshold of [0.1, 0.25, 0.4, 0.5, 0.6, 0.8, 0.95])
    assert.equal(await clustersOf(vectors, { threshold }), slowClusters(vectors, threshold), String(threshold));
});

for (const [limits, count] of [
  [{ most: 2 }, 2],
  [{ most: 1 }, 1],
  [{ least: 4 }, 4],
  [{ least: 100 }, 9],
  [{ least: 3, most: 3 }, 3],
  [{ threshold: -1 }, 1],
  [{ threshold: 1 }, 9],
] as const)
  Clusters(`${JSON.stringify(limits)} gives ${count} clusters of 9 vectors in 3 groups`, async () => {
    assert.is(new Set(await clustersOf(grouped(9, 3, 0.1), limits)).size, count);
  });

Clusters('takes no vector, one vector and equal vectors', async () => {
  assert.equal(await clustersOf([]), []);
  assert.equal(await clustersOf(grouped(1, 1, 0)), [0]);
  assert.equal(await clustersOf(grouped(5, 1, 0)), [0, 0, 0, 0, 0]);
});

Clusters.run();
