import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Processor } from '../../base/core/machine/processors.ts';
import { chooseProcessors } from './choose-processors.ts';

const Choice = suite('processors of bound replicas');

/** Returns a machine: nodes with cores, the first `slow` of which are slow, and hardware threads. */
function machine(nodes: number, coresOfNode: number, threads: number, slow = 0): Processor[] {
  const cores = nodes * coresOfNode;
  return Array.from({ length: cores * threads }, (_, id) => {
    const core = id % cores;
    return { id, core, node: Math.floor(core / coresOfNode), isSlow: core < slow };
  });
}

const CASES: readonly (readonly [
  what: string,
  processors: readonly Processor[],
  counts: readonly number[],
  wanted: readonly string[],
])[] = [
  ['different cores', machine(1, 4, 1), [2, 2], ['0,1', '2,3']],
  ['both threads of their cores', machine(1, 4, 2), [2, 2], ['0,1,4,5', '2,3,6,7']],
  ['different nodes', machine(2, 4, 1), [2, 2, 2, 2], ['0,1', '4,5', '2,3', '6,7']],
  ['one node although both have free cores', machine(2, 4, 1), [3, 3, 2], ['0,1,2', '4,5,6', '3,7']],
  ['several nodes when they need them', machine(2, 2, 1), [3, 1], ['0,1,2', '3']],
  ['fast cores before slow ones', machine(1, 4, 1, 2), [1, 1, 1], ['2', '3', '0']],
  ['the least used cores when none are free', machine(1, 2, 1), [1, 1, 1, 1], ['0', '1', '0', '1']],
  ['all cores when they need more', machine(1, 2, 2), [5], ['0,1,2,3']],
];
for (const [what, processors, counts, wanted] of CASES)
  Choice(`have ${what}`, () => {
    const taken: number[][] = [];
    for (const count of counts) taken.push(chooseProcessors(processors, count, { staying: taken }));
    assert.equal(
      taken.map((ids) => ids.join(',')),
      wanted,
    );
  });

Choice('have cores of replicas that leave before those of replicas that stay, and free ones before both', () => {
  const leaving = [[0, 1], [0]];
  for (const [staying, count, wanted] of [
    [[[2]], 1, [3]],
    [[[2]], 2, [1, 3]],
    [[[2], [3]], 1, [1]],
    [[[2], [3]], 2, [0, 1]],
    [[[0, 1], [2], [3]], 1, [2]],
  ] as const)
    assert.equal(chooseProcessors(machine(1, 4, 1), count, { staying, leaving }), wanted);
});

/** Returns all sequences of numbers from 1 that have the sum. */
function sequencesOf(sum: number): number[][] {
  if (sum === 0) return [[]];
  const firsts = Array.from({ length: sum }, (_, index) => index + 1);
  return firsts.flatMap((first) => sequencesOf(sum - first).map((rest) => [first, ...rest]));
}

Choice('are whole cores of their own while there are enough, of one node if one has as many free', () => {
  for (const [nodes, coresOfNode, threads] of [
    [1, 6, 1],
    [1, 5, 2],
    [2, 4, 2],
    [3, 3, 1],
  ] as const) {
    const processors = machine(nodes, coresOfNode, threads);
    for (const counts of sequencesOf(nodes * coresOfNode)) {
      const taken: number[][] = [];
      for (const count of counts) {
        const free = processors.filter(({ id }) => !taken.some((ids) => ids.includes(id)));
        const ids = chooseProcessors(processors, count, { staying: taken });
        const chosen = free.filter(({ id }) => ids.includes(id));
        assert.equal([ids.length, chosen.length], [count * threads, count * threads]);
        assert.is(new Set(chosen.map(({ core }) => core)).size, count);
        const freeCores = (node: number): number => free.filter((one) => one.node === node).length / threads;
        const fits = Array.from({ length: nodes }, (_, node) => freeCores(node)).some((cores) => cores >= count);
        if (fits) assert.is(new Set(chosen.map(({ node }) => node)).size, 1, `${counts.join(' ')}`);
        taken.push(ids);
      }
    }
  }
});

Choice.run();
