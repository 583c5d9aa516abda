import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { BoundDeployment } from '../class/bound-deployment.ts';
import { calleesFirst, callersOf, requireCallees, requireNoCycle } from './call-graph.ts';

const Graph = suite('the graph of deployments that call deployments');

/** Returns deployments from lists of those that each calls. */
const graph = (calls: Readonly<Record<string, readonly string[]>>): Map<string, BoundDeployment> =>
  new Map(
    Object.entries(calls).map(([name, callees]) => [
      name,
      { options: { handles: Object.fromEntries(callees.map((callee) => [callee, callee])) } } as never,
    ]),
  );

const messageOf = (work: () => void): string => {
  try {
    work();
  } catch (error) {
    return (error as Error).message;
  }
  return '';
};

for (const [calls, path] of [
  [{ a: ['a'] }, 'a → a'],
  [{ a: ['b'], b: ['a'] }, 'a → b → a'],
  [{ a: ['x', 'b'], x: ['y'], y: [], b: ['x', 'c'], c: ['y', 'a'] }, 'a → b → c → a'],
] as const)
  Graph(`refuses ${path}`, () => {
    assert.match(
      messageOf(() => requireNoCycle('a', graph(calls))),
      `must not call itself: ${path}`,
    );
  });

Graph('knows each graph without a cycle, and puts callees before their callers', () => {
  for (let seed = 0; seed < 500; seed += 1) {
    // Each calls only some with higher numbers, so that there is no cycle; the order of registration is another one.
    const names = Array.from({ length: 8 }, (_, n) => `d${n}`);
    const isEdge = (from: number, to: number): boolean =>
      to > from && ((seed * 31 + from * 17 + to * 7) >> 2) % 3 === 0;
    const calls = Object.fromEntries(
      names
        .map((name, from) => [name, names.filter((_, to) => isEdge(from, to))] as const)
        .toSorted(([one], [other]) => (one + seed).localeCompare(other + seed) * (seed % 2 === 0 ? 1 : -1)),
    );
    const all = graph(calls);
    const ordered = calleesFirst(all.keys(), all);
    assert.equal(ordered.toSorted(), names);
    for (const [name, callees] of Object.entries(calls)) {
      requireNoCycle(name, all);
      for (const callee of callees) {
        assert.ok(ordered.indexOf(callee) < ordered.indexOf(name));
        assert.ok(callersOf(callee, all).includes(name));
        // A call back closes a circle, which is found from each of its members.
        const back = graph({ ...calls, [callee]: [...(calls[callee] ?? []), name] });
        for (const member of [name, callee])
          assert.match(
            messageOf(() => requireNoCycle(member, back)),
            new RegExp(`${member} → .*${member}$`),
          );
      }
    }
  }
});

Graph('names the key of a deployment that is not there', () => {
  const all = graph({ a: ['b', 'c'], b: [] });
  assert.is(
    messageOf(() => requireCallees('a', all)),
    'deployment a: handles.c: there is no deployment c; deployments are: a, b',
  );
  requireCallees('b', all);
  assert.equal(calleesFirst(['a'], all), ['a'], 'only what is to be started');
});

Graph.run();
