import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../core/errors.ts';
import { silentLogger } from '../core/logger.ts';
import type { ModelSource } from './deployment-definition.ts';
import { defaultThreads, DeploymentManager, type DeploymentProgress } from './deployment-manager.ts';
import type { DeploymentOptionsInput } from './deployment-options.ts';
import { SampleDeployment } from './fixtures/sample-deployment.ts';

const Manager = suite('the deployment manager');

/** Has every model except `absent`. */
const models: ModelSource = {
  pull: async (id, { signal }) => {
    if (id === 'never') await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    if (id === 'absent') throw new AanaError('DownloadException', 'bad-request', 'absent could not be fetched from anywhere');
    return { path: `/models/${id}` };
  },
};

const open = new Set<DeploymentManager>();

function manager(deployments: Record<string, Omit<DeploymentOptionsInput, 'type'>> = {}): DeploymentManager {
  const made = new DeploymentManager({ log: silentLogger, models, env: process.env, definitions: [SampleDeployment] });
  for (const [name, options] of Object.entries(deployments)) made.register(name, { type: 'SampleDeployment', ...options });
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
  ['an unknown type', { type: 'Magic' }, /deployment asr: type: there is no Magic; known types are WhisperDeployment, LlamaTextGenerationDeployment/],
  ['an unknown key', { type: 'WhisperDeployment', num_replica: 2 }, /deployment asr: num_replica: /],
  ['a value out of range', { type: 'WhisperDeployment', num_replicas: 0 }, /deployment asr: num_replicas: .* 1/],
  ['an unknown key of user_config', { type: 'WhisperDeployment', user_config: { model: 'base' } }, /deployment asr: user_config: model: /],
  ['an unknown compute type', { type: 'WhisperDeployment', user_config: { compute_type: 'int3' } }, /compute_type: .*must be one of int8,/],
  ['an unknown key inside model_kwargs', { type: 'LlamaTextGenerationDeployment', user_config: { model_kwargs: { n_context: 1 } } }, /model_kwargs\.n_context: /],
  ['a sampling parameter out of range', { type: 'LlamaTextGenerationDeployment', user_config: { default_sampling_params: { top_p: 2 } } }, /default_sampling_params\.top_p: /],
];
for (const [what, options, pattern] of REFUSED) {
  Manager(`refuses ${what}, naming the deployment and the key`, async () => {
    const error = await failure(() => manager().register('asr', options as DeploymentOptionsInput));
    assert.is(error.name, 'ValidationError');
    assert.match(error.message, pattern);
  });
}

Manager('takes the two built-in types without any configuration', () => {
  const made = manager();
  made.register('asr_deployment', { type: 'WhisperDeployment' });
  made.register('llm_deployment', { type: 'LlamaTextGenerationDeployment' });
  assert.equal(Object.keys(made.status()), ['asr_deployment', 'llm_deployment']);
});

Manager('refuses a name twice', async () => {
  const made = manager({ one: {} });
  assert.is((await failure(() => made.register('one', { type: 'SampleDeployment' }))).kind, 'conflict');
});

Manager('names the deployments that there are when one is not', async () => {
  const made = manager({ one: {}, two: {} });
  const error = await failure(() => made.handle('three'));
  assert.equal([error.kind, error.message], ['not-found', 'there is no deployment three; deployments are: one, two']);
});

Manager('gives replicas what prepare made of the configuration', async () => {
  const progress: DeploymentProgress[] = [];
  const made = manager({ one: { user_config: { model: 'big' }, ray_actor_options: { num_cpus: 3, num_gpus: 0 } } });
  await made.start({ onProgress: (step) => progress.push(step) });
  assert.equal(progress[0], { deployment: 'one', fraction: undefined, text: 'fetching big' });
  assert.equal(await made.handle('one').call('spec', {}), { path: '/models/big', threads: 3, num_gpus: 0 });
  assert.is(made.status()['one']?.status, 'RUNNING');
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

const BAD_CALLS: readonly (readonly [what: string, method: string, args: Record<string, unknown>, name: string, pattern: RegExp])[] = [
  ['an unknown method', 'shout', {}, 'MethodNotFound', /deployment one has no method shout; its methods are: echo, spec, wait, crash, count/],
  ['a method that every object has', 'toString', {}, 'MethodNotFound', /no method toString/],
  ['a missing parameter', 'echo', {}, 'ValidationError', /one\.echo: text: /],
  ['an unknown parameter', 'echo', { text: '', loud: true }, 'ValidationError', /one\.echo: loud: /],
  ['a call of a stream', 'count', { to: 1 }, 'MethodNotFound', /method count of deployment one is a stream/],
];
for (const [what, method, args, name, pattern] of BAD_CALLS) {
  Manager(`refuses ${what}`, async () => {
    const error = await failure(() => manager({ one: {} }).handle('one').call(method, args));
    assert.is(error.name, name);
    assert.match(error.message, pattern);
  });
}

Manager('refuses calls before its start', async () => {
  assert.is((await failure(() => manager({ one: {} }).handle('one').call('echo', { text: '' }))).name, 'DeploymentNotStarted');
});

Manager('fails to start when a model cannot be had, naming the deployment and the reason', async () => {
  const made = manager({ good: {}, bad: { user_config: { model: 'absent' } } });
  const error = await failure(() => made.start());
  assert.equal([error.name, error.message], ['FailedDeployment', 'deployment bad failed: absent could not be fetched from anywhere']);
  assert.is(made.status()['good']?.replicas.filter(({ state }) => state !== 'exited').length, 0);
});

Manager('stops fetching models when another deployment fails to load', async () => {
  const made = manager({ bad: { user_config: { start: 'reject' } }, slow: { user_config: { model: 'never' } } });
  assert.is((await failure(() => made.start())).message, 'deployment bad failed: the file model.bin is truncated');
});

Manager('rejects its start with the reason of the signal', async () => {
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
  assert.equal([error.kind, error.message], ['unavailable', 'deployment one is full: 1 calls are waiting already; try again later']);
  await Promise.all(calls);
});

Manager('serves calls with as many replicas as it was told', async () => {
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

Manager('refuses calls after its shutdown', async () => {
  const made = manager({ one: {} });
  await made.start();
  const handle = made.handle('one');
  await made.shutdown({ graceMs: 0 });
  assert.is((await failure(() => handle.call('echo', { text: '' }))).kind, 'unavailable');
});

Manager('takes half of the cores for a model, 1 to 8', () => {
  assert.equal([1, 2, 3, 8, 64].map(defaultThreads), [1, 1, 1, 4, 8]);
});

Manager.run();
