import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../../base/config/index.ts';
import { type BoundDeployment, callersOf, requireCallees, requireNoCycle } from '../../inference/deployments/index.ts';
import { RelayDeployment } from '../../inference/deployments/fixtures/relay-deployment.ts';
import { SentimentDeployment } from '../../inference/deployments/fixtures/sentiment-deployment.ts';
import { Random } from '../../test/simulation/random.ts';
import { planChanges } from './plan.ts';

const config = (deployments: object): ReturnType<typeof loadConfig> =>
  loadConfig({ cwd: '/', env: {}, content: JSON.stringify({ deployments }) });
const relay = (handles: Readonly<Record<string, string>>): BoundDeployment =>
  ({ definition: { name: 'Relay' }, options: { handles } }) as never;

const Plan = suite('the plan of a new configuration');

Plan('refuses to remove a deployment that endpoints declare, or other deployments call', () => {
  const whisper = { type: 'WhisperDeployment' };
  const { plan, changes } = planChanges({
    ...{ now: config({ called: whisper, free: whisper }), next: config({}), wanted: new Map(), liveSections: [] },
    endpoints: [{ name: 'judge', deployments: ['called'] }],
    registered: new Map<string, BoundDeployment>([
      ['called', SentimentDeployment.options()],
      ['free', SentimentDeployment.options()],
      ['relay', RelayDeployment.options({ handles: { next: 'called' } })],
    ]),
  });
  const reason = 'it cannot be removed, because judge declares it, and relay calls it';
  assert.equal(plan.refused, [{ key: 'deployments.called', reason }]);
  assert.equal(
    changes.map(({ kind, name }) => [kind, name]),
    [['remove', 'free']],
  );
});

/** Returns up to six deployments, each of which calls some of those before it in a random order. */
function randomGraph(random: () => number): Map<string, BoundDeployment> {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'].toSorted(() => random() - 0.5).slice(0, 2 + Math.floor(random() * 5));
  const all = names.map((name, at) => {
    const callees = names.slice(0, at).filter(() => random() < 0.4);
    return [name, relay(Object.fromEntries(callees.map((callee) => [callee, callee])))] as const;
  });
  return new Map(all.toSorted(() => random() - 0.5));
}

Plan('makes changes in an order in which each is possible, and each can be taken back', () => {
  const random = new Random(7).next;
  for (let round = 0; round < 300; round += 1) {
    const [registered, wanted] = [randomGraph(random), randomGraph(random)];
    const configured = config(Object.fromEntries([...registered.keys()].map((name) => [name, { type: 'Relay' }])));
    const { plan, changes } = planChanges({
      ...{ now: configured, next: configured, wanted, registered, endpoints: [], liveSections: [] },
    });
    assert.equal(plan.refused, []);
    const all = new Map(registered);
    for (const change of changes) {
      const { name } = change;
      if (change.kind === 'remove') {
        assert.equal(callersOf(name, all), []);
        all.delete(name);
        continue;
      }
      // While a deployment is changed, it calls those of both versions.
      const handles = { ...all.get(name)?.options.handles, ...change.after.options.handles };
      requireNoCycle(name, new Map(all).set(name, relay(handles)));
      requireCallees(name, all.set(name, change.after));
    }
    assert.equal([...all].toSorted(), [...wanted].toSorted());
  }
});

Plan('names a deployment that calls itself, or one that is not there', () => {
  const planned = (wanted: Record<string, BoundDeployment>): unknown =>
    planChanges({
      ...{ now: config({}), next: config({}), wanted: new Map(Object.entries(wanted)), registered: new Map() },
      ...{ endpoints: [], liveSections: [] },
    });
  assert.throws(() => planned({ a: relay({ x: 'none' }) }), /deployment a: handles\.x: there is no deployment none/);
  assert.throws(() => planned({ a: relay({ x: 'b' }), b: relay({ x: 'a' }) }), /must not call itself: a → b → a/);
});

Plan.run();
