import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cpusOfReplica, defaultCpus } from './cpu-plan.ts';
import { DeploymentOptions, type DeploymentOptionsInput } from './deployment-options.ts';

const Plan = suite('processors of replicas');

const options = (more: Partial<DeploymentOptionsInput> = {}): DeploymentOptions => DeploymentOptions.parse({ type: 'any', ...more });
const machine = (cpus: number, gpus = 0): Parameters<typeof cpusOfReplica>[2] => ({
  cpus,
  memoryBytes: 0,
  gpus: Array.from({ length: gpus }, () => ({ id: undefined, name: 'fake', memoryBytes: 0 })),
});

Plan('are half of those of the machine at most, 1 to 8', () => {
  assert.equal([1, 2, 3, 8, 64].map(defaultCpus), [1, 1, 1, 4, 8]);
});

const PLAIN = options();
const CASES: readonly (readonly [what: string, all: readonly DeploymentOptions[], cpus: number, gpus: number, wanted: readonly number[]])[] = [
  ['two deployments on eight', [PLAIN, PLAIN], 8, 0, [4, 4]],
  ['two deployments on two', [PLAIN, PLAIN], 2, 0, [1, 1]],
  ['three deployments on eight', [PLAIN, PLAIN, PLAIN], 8, 0, [2, 2, 2]],
  ['replicas that may come', [PLAIN, options({ autoscaling_config: { max_replicas: 3 } })], 8, 0, [2, 2]],
  ['a deployment that says its number', [options({ ray_actor_options: { num_cpus: 6 } }), PLAIN], 8, 0, [6, 2]],
  ['a number below one', [options({ num_replicas: 2, ray_actor_options: { num_cpus: 0.5 } }), PLAIN], 4, 0, [1, 2]],
  ['more replicas than processors', [options({ num_replicas: 5 }), PLAIN], 4, 0, [1, 1]],
  ['a deployment on a GPU', [options({ num_replicas: 4, ray_actor_options: { num_gpus: 0.5 } }), PLAIN], 8, 2, [1, 4]],
  ['a deployment that asks for a GPU where there is none', [options({ ray_actor_options: { num_gpus: 0.5 } }), PLAIN], 8, 0, [4, 4]],
];
for (const [what, all, cpus, gpus, wanted] of CASES) {
  Plan(`fit the machine with ${what}`, () => {
    const each = all.map((one) => cpusOfReplica(one, all, machine(cpus, gpus)));
    assert.equal(each, wanted);
  });
}

Plan.run();
