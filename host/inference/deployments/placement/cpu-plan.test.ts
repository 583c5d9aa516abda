import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import type { Machine } from '../../devices/index.ts';
import { bind, type BoundDeployment } from '../class/bound-deployment.ts';
import { cpusOfReplica, type CpuUser, defaultCpus, fewerThreads } from './cpu-plan.ts';
import { DeploymentOptions, type DeploymentOptionsInput } from '../class/deployment-options.ts';
import { LlamaTextGenerationDeployment } from '../builtin/llama-text-generation-deployment.ts';
import { WhisperDeployment } from '../builtin/speech/whisper-deployment.ts';

const Plan = suite('processors of replicas');

const options = (more: Partial<DeploymentOptionsInput> = {}): DeploymentOptions =>
  DeploymentOptions.parse({ type: 'any', ...more });
const machine = (cpus: number, gpus = 0, more: Partial<Machine> = {}): Machine => ({
  cpus,
  memoryBytes: 0,
  gpus: Array.from({ length: gpus }, () => ({ id: undefined, name: 'fake', memoryBytes: 0 })),
  ...more,
});

Plan('are as many as the cores of a replica, from 1 to 8', () => {
  assert.equal([-2, 0, 0.5, 1, 2, 3.5, 8, 64].map(defaultCpus), [1, 1, 1, 1, 2, 3, 8, 8]);
});

/** A deployment whose configuration names no threads. */
const plain = (more: Partial<DeploymentOptionsInput> = {}): CpuUser => ({ definition: {}, options: options(more) });
const llm = (threads?: number, more: object = {}): BoundDeployment =>
  bind(
    LlamaTextGenerationDeployment,
    { ...more, user_config: { model_kwargs: threads === undefined ? {} : { n_threads: threads } } },
    'llm',
  );
const asr = (config: { threads?: number; max_states?: number } = {}, more: object = {}): BoundDeployment =>
  bind(WhisperDeployment, { ...more, user_config: config }, 'asr');

const othersThan = <T>(all: readonly T[], index: number): T[] => all.filter((_, other) => other !== index);

const PLAIN = plain();
const CASES: readonly (readonly [
  what: string,
  all: readonly CpuUser[],
  cpus: number,
  gpus: number,
  wanted: readonly number[],
])[] = [
  ['two deployments on eight', [PLAIN, PLAIN], 8, 0, [4, 4]],
  ['two deployments on two', [PLAIN, PLAIN], 2, 0, [1, 1]],
  ['three deployments on eight', [PLAIN, PLAIN, PLAIN], 8, 0, [2, 2, 2]],
  ['replicas that may come', [PLAIN, plain({ autoscaling_config: { max_replicas: 3 } })], 8, 0, [2, 2]],
  ['a deployment that sets its number', [plain({ ray_actor_options: { num_cpus: 6 } }), PLAIN], 8, 0, [6, 2]],
  ['one deployment on eight', [PLAIN], 8, 0, [8]],
  ['one deployment on sixteen', [PLAIN], 16, 0, [8]],
  ['two replicas on four', [plain({ num_replicas: 2 })], 4, 0, [2]],
  ['a number below one', [plain({ num_replicas: 2, ray_actor_options: { num_cpus: 0.5 } }), PLAIN], 4, 0, [1, 3]],
  ['more replicas than processors', [plain({ num_replicas: 5 }), PLAIN], 4, 0, [1, 1]],
  ['a deployment on a GPU', [plain({ num_replicas: 4, ray_actor_options: { num_gpus: 0.5 } }), PLAIN], 8, 2, [1, 4]],
  [
    'a deployment that asks for a GPU where there is none',
    [plain({ ray_actor_options: { num_gpus: 0.5 } }), PLAIN],
    8,
    0,
    [4, 4],
  ],
  ['a language model that names its threads', [llm(6), PLAIN], 8, 0, [6, 2]],
  ['threads of several replicas', [llm(3, { num_replicas: 2 }), PLAIN], 8, 0, [3, 2]],
  ['threads of replicas that may come', [llm(2, { autoscaling_config: { max_replicas: 3 } }), PLAIN], 8, 0, [2, 2]],
  ['threads of each window of speech', [asr({ threads: 3 }), PLAIN], 8, 0, [6, 2]],
  ['threads of a number of windows', [asr({ threads: 1, max_states: 5 }), PLAIN], 8, 0, [5, 3]],
  ['as many threads as processors', [llm(8), PLAIN], 8, 0, [8, 1]],
  ['more processors than threads', [llm(2, { ray_actor_options: { num_cpus: 4 } }), PLAIN], 8, 0, [4, 4]],
  ['more threads than processors of a replica', [llm(4, { ray_actor_options: { num_cpus: 2 } }), PLAIN], 8, 0, [4, 4]],
  ['more threads than processors', [llm(6), llm(2)], 4, 0, [3, 1]],
  ['more threads than processors beside a deployment that names none', [llm(16), PLAIN], 4, 0, [4, 1]],
  ['threads beside a GPU', [llm(6, { ray_actor_options: { num_gpus: 1 } }), PLAIN], 8, 1, [6, 2]],
];
for (const [what, all, cpus, gpus, wanted] of CASES) {
  Plan(`fit the machine with ${what}`, () => {
    const each = all.map((one, index) => cpusOfReplica(one, othersThan(all, index), machine(cpus, gpus)));
    assert.equal(each, wanted);
  });
}

/** Eight cores with two hardware threads each. */
const SMT = machine(16, 0, {
  cores: 8,
  processors: Array.from({ length: 16 }, (_, id) => ({ id, core: id % 8, node: 0, isSlow: false })),
});
const SMT_CASES: readonly (readonly [what: string, all: readonly CpuUser[], wanted: readonly number[]])[] = [
  ['one deployment', [PLAIN], [8]],
  ['two deployments', [PLAIN, PLAIN], [4, 4]],
  ['three replicas', [plain({ num_replicas: 3 })], [2]],
  ['threads on both hardware threads of each core', [llm(16)], [16]],
  ['threads of another deployment', [llm(6), PLAIN], [6, 2]],
  ['threads on all cores', [llm(8), PLAIN], [8, 1]],
  ['a list of four cores', [plain({ cpu_affinity: '0-3' })], [4]],
  ['a list of two cores with both of their threads', [plain({ cpu_affinity: '0-1,8-9' })], [2]],
  ['two replicas that share a list', [plain({ cpu_affinity: '0-3', num_replicas: 2 }), PLAIN], [2, 4]],
  ['more threads than its list has processors', [llm(8, { cpu_affinity: '0-3' }), PLAIN], [4, 4]],
  ['more reserved than its list has', [plain({ cpu_affinity: '3', ray_actor_options: { num_cpus: 2 } })], [1]],
  ['cores of its own', [plain({ cpu_affinity: 'auto' }), PLAIN], [4, 4]],
];
for (const [what, all, wanted] of SMT_CASES)
  Plan(`fit eight cores with two threads each with ${what}`, () => {
    const each = all.map((one, index) => cpusOfReplica(one, othersThan(all, index), SMT));
    assert.equal(each, wanted);
  });

Plan('are no more than a quota has for a list of many processors', () => {
  const quota = { ...SMT, cpus: 2, cores: 2 };
  assert.is(cpusOfReplica(plain({ cpu_affinity: '0-7' }), [], quota), 2);
  assert.is(cpusOfReplica(plain({ cpu_affinity: '0' }), [PLAIN], quota), 1);
});

Plan('explain in a sentence why a replica runs fewer threads than its configuration names', () => {
  assert.match(
    fewerThreads(llm(9), [], machine(8)) ?? '',
    /asks for 9 threads for each replica, but a replica runs 8, because this machine has 8 processors/,
  );
  assert.match(
    fewerThreads(llm(9, { cpu_affinity: '0-3' }), [], SMT) ?? '',
    /asks for 9 threads for each replica, but a replica runs 4, because cpu_affinity has 4 processors$/,
  );
  for (const next of [llm(8), llm(1, { num_replicas: 20 }), PLAIN])
    assert.is(fewerThreads(next, [], machine(8)), undefined);
});

/**
 * Returns the threads of one unit (the steps of an answer, or a window), and all threads of a replica, when it starts
 * on the machine.
 */
async function threadsOf(bound: BoundDeployment, cpus: number): Promise<readonly [ofUnit: number, all: number]> {
  const models = { pull: async () => ({ path: fileURLToPath(import.meta.url) }) }; // no model, so it states nothing
  const spec = await bound.definition.prepare(bound.options.user_config, {
    models,
    log: silentLogger,
    env: {},
    signal: new AbortController().signal,
    cpus: async () => cpus,
    numGpus: 0,
    progress: () => {},
  });
  const ofUnit = Number(spec['n_threads'] ?? spec['threads']);
  return [ofUnit, ofUnit * Number(spec['max_states'] ?? 1)];
}

Plan('are enough for the threads of any two deployments, except for replicas and windows with one thread', async () => {
  const models = [undefined, 1, 2, 3, 5, 8].flatMap((threads) =>
    [1, 2].map((replicas) => llm(threads, { num_replicas: replicas })),
  );
  const speech = [undefined, 1, 2, 4].flatMap((threads) =>
    [undefined, 1, 3].map((states) =>
      asr({ ...(threads !== undefined && { threads }), ...(states !== undefined && { max_states: states }) }),
    ),
  );
  let lowered = 0;
  let tight = 0;
  for (const cpus of [1, 2, 3, 4, 6, 8, 12]) {
    for (const all of models.flatMap((one) => speech.map((other) => [one, other] as const))) {
      let busy = 0;
      for (const [index, one] of all.entries()) {
        const others = othersThan(all, index);
        if (fewerThreads(one, others, machine(cpus)) !== undefined) lowered += 1;
        const [ofUnit, ofReplica] = await threadsOf(one, cpusOfReplica(one, others, machine(cpus)));
        if (ofUnit > 1) busy += ofReplica * (one.options.num_replicas ?? 1);
      }
      const settings = all.map(({ options: { num_replicas, user_config } }) => [
        num_replicas,
        user_config['threads'] ?? user_config['model_kwargs'],
        user_config['max_states'],
      ]);
      assert.ok(busy <= cpus, `${busy} threads on ${cpus} processors: ${JSON.stringify(settings)}`);
      if (busy === cpus) tight += 1;
    }
  }
  assert.ok(lowered > 50 && tight > 50, `${lowered} have fewer threads, ${tight} use all processors`);
});

Plan.run();
