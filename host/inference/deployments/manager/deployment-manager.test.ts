import { readdirSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import { deferred } from '../../../base/core/deferred.ts';
import { AanaError } from '../../../base/core/errors.ts';
import { createLogger, type LogFields, type Logger, silentLogger } from '../../../base/core/log/logger.ts';
import { parseProcessorList } from '../../../base/core/machine/processor-list.ts';
import { allowedProcessors, coresOf } from '../../../base/core/machine/processors.ts';
import { launcherPath } from '../../../base/processes/index.ts';
import { skip } from '../../../test/skip.ts';
import type { Machine } from '../../devices/index.ts';
import type { ModelSource } from '../class/deployment-definition.ts';
import { DeploymentManager, type DeploymentProgress } from './deployment-manager.ts';
import type { DeploymentOptionsInput } from '../class/deployment-options.ts';
import { SampleDeployment } from '../fixtures/sample-deployment.ts';

const Manager = suite('the deployment manager');

/** A model source with every model except `absent`. */
const models: ModelSource = {
  pull: async (id, { signal }) => {
    if (id === 'never')
      await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    if (id === 'absent')
      throw new AanaError('DownloadException', 'bad-request', 'absent could not be fetched from anywhere');
    return { path: `/models/${id}` };
  },
};

const open = new Set<DeploymentManager>();

function manager(
  deployments: Record<string, Omit<DeploymentOptionsInput, 'type'>> = {},
  machine?: Machine,
  log: Logger = silentLogger,
): DeploymentManager {
  const made = new DeploymentManager({
    log,
    models,
    env: process.env,
    definitions: [SampleDeployment],
    machine: machine && (async () => machine),
  });
  for (const [name, options] of Object.entries(deployments))
    made.register(name, { type: 'SampleDeployment', ...options });
  open.add(made);
  return made;
}

async function failure(run: () => unknown): Promise<AanaError> {
  try {
    await run();
  } catch (error) {
    if (error instanceof AanaError) return error;
    throw error;
  }
  return assert.unreachable('it did not fail') as never;
}

Manager.after.each(async () => {
  await Promise.all([...open].map((each) => each.shutdown({ graceMs: 0 })));
  open.clear();
});

const REFUSED: readonly (readonly [what: string, options: unknown, pattern: RegExp])[] = [
  [
    'an unknown type',
    { type: 'Magic' },
    /deployment asr: type: unknown type Magic; known types are WhisperDeployment, LlamaTextGenerationDeployment/,
  ],
  ['an unknown key', { type: 'WhisperDeployment', num_replica: 2 }, /deployment asr: num_replica: /],
  ['a value out of range', { type: 'WhisperDeployment', num_replicas: 0 }, /deployment asr: num_replicas: .* 1/],
  [
    'an unknown key of user_config',
    { type: 'WhisperDeployment', user_config: { model: 'base' } },
    /deployment asr: user_config: model: /,
  ],
  [
    'an unknown compute type',
    { type: 'WhisperDeployment', user_config: { compute_type: 'int3' } },
    /compute_type: .*must be one of int8,/,
  ],
  [
    'an unknown key inside model_kwargs',
    { type: 'LlamaTextGenerationDeployment', user_config: { model_kwargs: { n_context: 1 } } },
    /model_kwargs\.n_context: /,
  ],
  [
    'two thirds of a GPU',
    { type: 'WhisperDeployment', ray_actor_options: { num_gpus: 2 / 3 } },
    /deployment asr: ray_actor_options\.num_gpus: .*four decimals/,
  ],
  [
    'one and a half GPUs',
    { type: 'WhisperDeployment', ray_actor_options: { num_gpus: 1.5 } },
    /num_gpus: .*must be a whole number/,
  ],
  [
    'an unknown key of autoscaling_config',
    { type: 'WhisperDeployment', autoscaling_config: { max_replica: 2 } },
    /autoscaling_config\.max_replica: /,
  ],
  [
    'a minimum over the maximum',
    { type: 'WhisperDeployment', autoscaling_config: { min_replicas: 2 } },
    /autoscaling_config\.max_replicas: .*less than min_replicas/,
  ],
  [
    'two numbers of replicas',
    { type: 'WhisperDeployment', num_replicas: 1, autoscaling_config: {} },
    /num_replicas: .*together with autoscaling_config/,
  ],
  [
    'sleep without a place to wait',
    { type: 'WhisperDeployment', max_queued_requests: 0, autoscaling_config: { min_replicas: 0 } },
    /max_queued_requests: .*the first call waits/,
  ],
  [
    'a sampling parameter out of range',
    { type: 'LlamaTextGenerationDeployment', user_config: { default_sampling_params: { top_p: 2 } } },
    /default_sampling_params\.top_p: /,
  ],
];
for (const [what, options, pattern] of REFUSED) {
  Manager(`refuses ${what}, naming the deployment and the key`, async () => {
    const error = await failure(() => manager().register('asr', options as DeploymentOptionsInput));
    assert.is(error.name, 'ValidationError');
    assert.match(error.message, pattern);
  });
}

Manager('accepts the two built-in types without any configuration', () => {
  const made = manager();
  made.register('asr_deployment', { type: 'WhisperDeployment' });
  made.register('llm_deployment', { type: 'LlamaTextGenerationDeployment' });
  assert.equal(Object.keys(made.status()), ['asr_deployment', 'llm_deployment']);
});

Manager('refuses a name twice', async () => {
  const made = manager({ one: {} });
  assert.is((await failure(() => made.register('one', { type: 'SampleDeployment' }))).kind, 'conflict');
});

Manager('names the known deployments when a name is unknown', async () => {
  const made = manager({ one: {}, two: {} });
  const error = await failure(() => made.handle('three'));
  assert.equal([error.kind, error.message], ['not-found', 'there is no deployment three; deployments are: one, two']);
});

Manager('starts replicas with the parameters that prepare returned', async () => {
  const progress: DeploymentProgress[] = [];
  const made = manager({ one: { user_config: { model: 'big' }, ray_actor_options: { num_cpus: 3, num_gpus: 0 } } });
  await made.start({ onProgress: (step) => progress.push(step) });
  assert.equal(progress[0], { deployment: 'one', fraction: undefined, text: 'fetching big' });
  assert.equal(await made.handle('one').call('spec', {}), { path: '/models/big', threads: 3, num_gpus: 0 });
  assert.is(made.status()['one']?.status, 'RUNNING');
});

Manager('knows which deployments load a file, also after an update', async () => {
  const made = manager({ one: { user_config: { model: 'big' } }, two: { user_config: { model: 'big' } } });
  assert.equal(made.usersOf('/models/big'), []);
  await made.start();
  assert.equal(made.usersOf('/models/big'), ['one', 'two']);
  await made.update('one', { type: 'SampleDeployment', user_config: { model: 'small' } }, { watchS: 0 });
  assert.equal([made.usersOf('/models/big'), made.usersOf('/models/small')], [['two'], ['one']]);
});

Manager('fills in defaults of a method’s parameters', async () => {
  const made = manager({ one: {} });
  await made.start();
  assert.equal(await made.handle('one').call('echo', { text: 'hi' }), { text: 'hi', times: 1 });
});

Manager('streams', async () => {
  const made = manager({ one: {} });
  await made.start();
  const values: unknown[] = [];
  for await (const batch of made.handle('one').stream('count', { to: 5 })) values.push(...batch);
  assert.equal(values, [0, 1, 2, 3, 4]);
});

const BAD_CALLS: readonly (readonly [
  what: string,
  method: string,
  args: Record<string, unknown>,
  name: string,
  pattern: RegExp,
])[] = [
  [
    'an unknown method',
    'shout',
    {},
    'MethodNotFound',
    /deployment one has no method shout; its methods are: echo, spec, wait, crash, /,
  ],
  ['a method that every object has', 'toString', {}, 'MethodNotFound', /no method toString/],
  ['a missing parameter', 'echo', {}, 'ValidationError', /one\.echo: text: /],
  ['an unknown parameter', 'echo', { text: '', loud: true }, 'ValidationError', /one\.echo: loud: /],
  [
    'a call of a stream',
    'count',
    { to: 1 },
    'StreamMismatch',
    /method count of deployment one is streaming; use stream\(\)/,
  ],
];
for (const [what, method, args, name, pattern] of BAD_CALLS) {
  Manager(`refuses ${what}`, async () => {
    const error = await failure(() => manager({ one: {} }).handle('one').call(method, args));
    assert.is(error.name, name);
    assert.match(error.message, pattern);
  });
}

Manager('refuses calls before its start', async () => {
  assert.is(
    (await failure(() => manager({ one: {} }).handle('one').call('echo', { text: '' }))).name,
    'DeploymentNotStarted',
  );
});

Manager('names the deployment and the reason when a model cannot be fetched', async () => {
  const made = manager({ good: {}, bad: { user_config: { model: 'absent' } } });
  const error = await failure(() => made.start());
  assert.equal(
    [error.name, error.message],
    ['FailedDeployment', 'deployment bad failed: absent could not be fetched from anywhere'],
  );
  assert.is(made.status()['good']?.replicas.filter(({ state }) => state !== 'exited').length, 0);
});

Manager('stops fetching models when another deployment fails to load', async () => {
  const made = manager({ bad: { user_config: { start: 'reject' } }, slow: { user_config: { model: 'never' } } });
  assert.is((await failure(() => made.start())).message, 'deployment bad failed: the file model.bin is truncated');
});

Manager('rejects the start with the reason of the signal', async () => {
  const controller = new AbortController();
  const reason = new Error('interrupted');
  const made = manager({ slow: { user_config: { model: 'never' } } });
  const start = made.start({ signal: controller.signal }).catch((error: unknown) => error);
  controller.abort(reason);
  assert.is(await start, reason);
});

Manager('queues calls over max_ongoing_requests, and refuses those over max_queued_requests', async () => {
  const made = manager({ one: { max_ongoing_requests: 1, max_queued_requests: 1 } });
  await made.start();
  const handle = made.handle('one');
  const calls = [handle.call('wait', { ms: 100 }), handle.call('wait', { ms: 1 })];
  const error = await failure(() => handle.call('wait', { ms: 1 }));
  assert.equal(
    [error.kind, error.message],
    ['unavailable', 'deployment one is full: 1 calls are already waiting; try again in 1 s'],
  );
  await Promise.all(calls);
});

Manager('serves calls with the configured number of replicas', async () => {
  const made = manager({ one: { num_replicas: 2 } });
  await made.start();
  assert.equal(
    made.status()['one']?.replicas.map(({ name, state }) => [name, state]),
    [
      ['one#1', 'ready'],
      ['one#2', 'ready'],
    ],
  );
});

const TWO_GPUS: Machine = {
  gpus: ['GPU-a', 'GPU-b'].map((id) => ({ id, name: 'fake', memoryBytes: 80e9 })),
  memoryBytes: 64e9,
  cpus: 8,
};
const visible = async (made: DeploymentManager, name: string): Promise<unknown> =>
  made.handle(name).call('environment', { name: 'CUDA_VISIBLE_DEVICES' });

Manager('gives each replica its GPUs and no others, the largest first', async () => {
  const made = manager(
    {
      small: { ray_actor_options: { num_gpus: 0.5 } },
      cpu: { ray_actor_options: { num_gpus: 0 } },
      large: { ray_actor_options: { num_gpus: 1 } },
      tiny: { ray_actor_options: { num_gpus: 0.5 } },
    },
    TWO_GPUS,
  );
  await made.start();
  assert.equal(await Promise.all(['large', 'small', 'tiny', 'cpu'].map((name) => visible(made, name))), [
    'GPU-a',
    'GPU-b',
    'GPU-b',
    '',
  ]);
});

Manager('runs a deployment that asks for no GPU on the CPU, even if there are GPUs', async () => {
  const made = manager({ free: {}, small: { ray_actor_options: { num_gpus: 0.5 } } }, TWO_GPUS);
  await made.start();
  assert.equal([await visible(made, 'free'), made.status()['free']?.replicas[0]?.device], ['', 'CPU']);
  assert.is(((await made.handle('free').call('spec', {})) as { num_gpus: number }).num_gpus, 0);
});

Manager('fetches the model of the next deployment before the devices are known, and one model at a time', async () => {
  const pulled: string[] = [];
  const lastPull = deferred<void>();
  const made = new DeploymentManager({
    log: silentLogger,
    models: {
      pull: async (id) => {
        pulled.push(`${id} begins`);
        await delay(1);
        pulled.push(`${id} ends`);
        if (id === 'large') lastPull.resolve();
        return { path: `/models/${id}` };
      },
    },
    env: process.env,
    definitions: [SampleDeployment],
    machine: async () => (await lastPull.promise, { gpus: [], memoryBytes: 64e9, cpus: 2 }),
  });
  open.add(made);
  made.register('one', { type: 'SampleDeployment', user_config: { model: 'small' } });
  made.register('two', { type: 'SampleDeployment', user_config: { model: 'large' } });
  await made.start();
  assert.equal(pulled, ['small begins', 'small ends', 'large begins', 'large ends']);
});

Manager('divides the processors among the threads of all replicas', async () => {
  const made = manager(
    { one: {}, two: { num_replicas: 2 }, three: { ray_actor_options: { num_cpus: 4 } } },
    { gpus: [], memoryBytes: 64e9, cpus: 10 },
  );
  await made.start();
  const threads = await Promise.all(
    ['one', 'two', 'three'].map(
      async (name) => ((await made.handle(name).call('spec', {})) as { threads: number }).threads,
    ),
  );
  assert.equal(threads, [2, 2, 4]);
});

Manager(
  'gives replicas the threads that their configuration names, and divides the rest among the others',
  async () => {
    const machine: Machine = { gpus: [], memoryBytes: 64e9, cpus: 8 };
    const made = manager({ one: { user_config: { n_threads: 5 } }, two: {} }, machine);
    await made.start();
    const threads = async (name: string): Promise<unknown> =>
      ((await made.handle(name).call('spec', {})) as { threads: number }).threads;
    assert.equal([await threads('one'), await threads('two')], [5, 3]);

    const { outcome } = await made.update('two', { type: 'SampleDeployment', user_config: { n_threads: 2 } });
    assert.equal([outcome, await threads('two'), await threads('one')], ['updated', 2, 5]);
  },
);

Manager('gives replicas fewer threads than configured when there are too few processors, and logs it', async () => {
  const warnings: string[] = [];
  const log = {
    ...silentLogger,
    warn: (message: string, fields?: LogFields) =>
      void warnings.push(`${message} ${String(fields?.['deployment'])}: ${String(fields?.['reason'])}`),
  };
  const made = manager(
    { one: { user_config: { n_threads: 6 } }, two: { user_config: { n_threads: 2 } } },
    { gpus: [], memoryBytes: 64e9, cpus: 4 },
    log as Logger,
  );
  await made.start();
  const threads = async (name: string): Promise<unknown> =>
    ((await made.handle(name).call('spec', {})) as { threads: number }).threads;
  assert.equal([await threads('one'), await threads('two')], [3, 1]);
  assert.match(
    warnings.join('\n'),
    /configured one: the configuration asks for 6 threads .*, but a replica runs 3, because .* 4 processors/,
  );
});

if (launcherPath()) {
  Manager('binds each replica with all of its threads to cores of its own', async () => {
    const processors = allowedProcessors() ?? [];
    const replicas = { cpu_affinity: 'auto', num_replicas: Math.min(2, coresOf(processors)) };
    const made = manager({ one: replicas }, { gpus: [], memoryBytes: 64e9, processors });
    await made.start();
    const bound = made.status()['one']?.replicas.map(({ pid, device }) => {
      const threads = readdirSync(`/proc/${pid}/task`).map(
        (thread) => /^Cpus_allowed_list:\t(.*)$/m.exec(readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8'))?.[1],
      );
      assert.equal(
        [...new Set(threads)].map((list) => `CPU ${list}`),
        [device],
      );
      return parseProcessorList(threads[0] ?? '') ?? [];
    });
    const all = bound?.flat() ?? [];
    assert.is(bound?.length, replicas.num_replicas);
    assert.is(new Set(all).size, all.length, 'the replicas share processors');
  });
} else {
  skip('deployments bind replicas to cores', 'the launcher is not built');
}

Manager('keeps a replica on its GPU when its process dies', async () => {
  const made = manager(
    { one: { ray_actor_options: { num_gpus: 1 } }, two: { ray_actor_options: { num_gpus: 1 } } },
    TWO_GPUS,
  );
  await made.start();
  const [before, pid] = [await visible(made, 'two'), Number(await made.handle('two').call('pid', {}))];
  process.kill(pid, 'SIGKILL');
  while ((await made.handle('two').call('pid', {})) === pid);
  assert.is(await visible(made, 'two'), before);
});

Manager('runs deployments that ask for a GPU on the CPU when there is none, with one warning', async () => {
  const warnings: Record<string, unknown>[] = [];
  const log = createLogger({ level: 'warn', format: 'json', write: (line) => warnings.push(JSON.parse(line)) });
  const made = manager(
    { one: { ray_actor_options: { num_gpus: 2 } }, two: { ray_actor_options: { num_gpus: 0.5 } }, free: {} },
    { gpus: [], memoryBytes: 64e9 },
    log,
  );
  await made.start();
  assert.is(await visible(made, 'one'), '');
  assert.equal(
    warnings.map(({ message, deployments }) => [message, deployments]),
    [['this machine has no GPU; deployments that ask for one run on the CPU', ['one', 'two']]],
  );
});

const TOO_MUCH: readonly (readonly [
  what: string,
  deployments: Record<string, Omit<DeploymentOptionsInput, 'type'>>,
  pattern: RegExp,
])[] = [
  [
    'more GPUs than there are',
    { big: { ray_actor_options: { num_gpus: 3 } } },
    /no room for deployment big: it asks for 3 GPU; this machine has 2 GPU: fake with 75 GiB, 0 %/,
  ],
  [
    'more GPUs than are left',
    { one: { ray_actor_options: { num_gpus: 1 } }, big: { ray_actor_options: { num_gpus: 2 } } },
    /deployment one: it asks for 1 GPU; this machine has .* 100 % .* taken/,
  ],
  [
    'too many replicas',
    { many: { num_replicas: 3, ray_actor_options: { num_gpus: 0.7 } } },
    /each of its 3 replicas asks for 0\.7 GPU/,
  ],
  [
    'more GPUs than there are when it wakes',
    { big: { ray_actor_options: { num_gpus: 3 }, autoscaling_config: { min_replicas: 0 } } },
    /asks for 3 GPU/,
  ],
  [
    'more memory than is set aside',
    { big: { ray_actor_options: { num_gpus: 1, memory_bytes: 81e9 } } },
    /asks for 1 GPU and 75 GiB of memory/,
  ],
  [
    'more memory than a GPU has',
    { big: { user_config: { weights_bytes: 81e9 }, ray_actor_options: { num_gpus: 0.5 } } },
    /needs at least 75 GiB of memory \(75 GiB for its weights, 0\.00 GiB for its context\); fake has 75 GiB/,
  ],
  [
    'more processors than there are',
    { one: { ray_actor_options: { num_cpus: 6 } }, big: { ray_actor_options: { num_cpus: 3 } } },
    /deployment big: it asks for 3 processors; this machine has 8 processors, 6 of them taken, and /,
  ],
  [
    'more memory than the machine has',
    { big: { user_config: { weights_bytes: 65e9 }, ray_actor_options: { num_gpus: 0 } } },
    /needs at least 61 GiB of memory .* this machine has 60 GiB/,
  ],
];
for (const [what, deployments, pattern] of TOO_MUCH) {
  Manager(`refuses at once what asks for ${what}, naming demand and supply`, async () => {
    const error = await failure(() =>
      manager(
        { ...deployments, last: { user_config: { model: 'never' }, ray_actor_options: { num_gpus: 0 } } },
        TWO_GPUS,
      ).start(),
    );
    assert.equal([error.name, error.kind], ['InsufficientResources', 'unavailable']);
    assert.match(error.message, pattern);
    assert.equal(Object.keys(error.data as object), ['deployment', 'demand', 'supply']);
  });
}

Manager('repeats a call whose replica was lost', async () => {
  const made = manager({ one: {} });
  await made.start();
  const handle = made.handle('one');
  const pid = Number(await handle.call('pid', {}));
  const [waiting, other] = [handle.call('wait', { ms: 300 }), handle.call('echo', { text: '' })];
  await other;
  process.kill(pid, 'SIGKILL');
  assert.is(await waiting, 300);
  assert.is.not(await handle.call('pid', {}), pid);
});

Manager('does not repeat a stream that has produced a value', async () => {
  const made = manager({ one: {} });
  await made.start();
  const values: unknown[] = [];
  const error = await failure(async () => {
    for await (const batch of made.handle('one').stream('countThenCrash', { to: 3 })) values.push(...batch);
  });
  assert.equal([values, error.name], [[0, 1, 2], 'ReplicaLostError']);
});

Manager('gives up a call that loses each replica, and names the replica', async () => {
  const made = manager({ one: { num_replicas: 2 } });
  await made.start();
  assert.is((await failure(() => made.handle('one').call('crash', {}))).name, 'PoisonousCallError');
});

Manager('starts the first replica of a sleeping deployment at its first call, which waits for it', async () => {
  const made = manager({ one: { autoscaling_config: { min_replicas: 0 } } });
  await made.start();
  assert.equal([made.status()['one']?.status, made.status()['one']?.replicas.length], ['RUNNING', 0]);
  assert.equal(await made.handle('one').call('echo', { text: 'awake' }), { text: 'awake', times: 1 });
  assert.is(made.status()['one']?.replicas.length, 1);
});

Manager('refuses calls after its shutdown', async () => {
  const made = manager({ one: {} });
  await made.start();
  const handle = made.handle('one');
  await made.shutdown({ graceMs: 0 });
  assert.is((await failure(() => handle.call('echo', { text: '' }))).kind, 'unavailable');
});

Manager.run();
