// Deployments that are added, changed and removed while others serve, with real replica processes.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Clock, systemClock } from '../../../base/core/clock.ts';
import { AanaError } from '../../../base/core/errors.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import type { Machine } from '../../devices/index.ts';
import { isAlive, until } from '../../replicas/fixtures/sample-sets.ts';
import { DeploymentManager } from './deployment-manager.ts';
import type { DeploymentOptionsInput } from '../class/deployment-options.ts';
import { SampleDeployment } from '../fixtures/sample-deployment.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';

const Life = suite('deployments at run time');

type Options = Omit<DeploymentOptionsInput, 'type'>;

const TWO_GPUS: Machine = {
  gpus: ['GPU-a', 'GPU-b'].map((id) => ({ id, name: 'fake', memoryBytes: 80e9 })),
  memoryBytes: 64e9,
};
const FAST = { watchS: 0.05 };
const open = new Set<DeploymentManager>();

function manager(
  deployments: Record<string, Options>,
  machine: Machine = TWO_GPUS,
  clock: Clock = systemClock,
): DeploymentManager {
  const made = new DeploymentManager({
    log: silentLogger,
    env: process.env,
    definitions: [SampleDeployment],
    machine: async () => machine,
    simulated: { clock },
    models: {
      pull: async (id) => {
        if (id === 'absent')
          throw new AanaError('DownloadException', 'bad-request', 'absent could not be fetched from anywhere');
        return { path: `/models/${id}` };
      },
    },
  });
  for (const [name, options] of Object.entries(deployments)) made.register(name, sample(options));
  open.add(made);
  return made;
}

const sample = (options: Options = {}): DeploymentOptionsInput => ({ type: 'SampleDeployment', ...options });
const onGpu = (share: number, options: Options = {}): Options => ({
  ray_actor_options: { num_gpus: share },
  ...options,
});

async function started(deployments: Record<string, Options>): Promise<DeploymentManager> {
  const made = manager(deployments);
  await made.start();
  return made;
}

const pidsOf = (made: DeploymentManager, name: string): number[] =>
  made.status()[name]?.replicas.flatMap(({ pid }) => pid ?? []) ?? [];
const stateOf = (made: DeploymentManager, name: string): unknown => [
  made.status()[name]?.status,
  made.status()[name]?.replicas.length,
];
const specOf = async (made: DeploymentManager, name: string): Promise<Record<string, unknown>> =>
  (await made.handle(name).call('spec', {})) as Record<string, unknown>;

Life.after.each(async () => {
  await Promise.all([...open].map((each) => each.shutdown({ graceMs: 0 })));
  open.clear();
});

Life('starts a further deployment beside running ones', async () => {
  const made = await started({ one: {} });
  made.register('two', sample());
  assert.is((await errorOf(made.handle('two').call('spec', {}))).name, 'DeploymentNotStarted');
  await made.deployOne('two');
  assert.equal(
    [stateOf(made, 'one'), stateOf(made, 'two')],
    [
      ['RUNNING', 1],
      ['RUNNING', 1],
    ],
  );
  assert.is(
    (await errorOf(made.deployOne('two'))).message,
    'deployment two is already running; update it to change it',
  );
});

Life('keeps the others when one fails to start, and can start it later', async () => {
  const made = await started({ one: onGpu(1) });
  made.register('two', sample(onGpu(2)));
  const error = await errorOf(made.deployOne('two'));
  assert.is(error.name, 'InsufficientResources');
  assert.is((await errorOf(made.handle('two').call('spec', {}))).message, error.message);
  assert.equal(
    [stateOf(made, 'one'), made.status()['two']?.status, made.status()['two']?.message],
    [['RUNNING', 1], 'DEPLOY_FAILED', error.message],
  );
  await made.remove('one');
  await made.deployOne('two');
  assert.equal(stateOf(made, 'two'), ['RUNNING', 1]);
});

Life('keeps the reason of a deployment that could not be started', async () => {
  const made = await started({ one: {} });
  made.register('bad', sample({ user_config: { start: 'exit' } }));
  const error = await errorOf(made.deployOne('bad'));
  assert.match(error.message, /deployment bad failed: it ended 3 times before it was ready/);
  assert.is(made.status()['bad']?.status, 'DEPLOY_FAILED');
  assert.ok(made.status()['bad']?.lastLines.includes('sample: out of memory'));
  await made.remove('bad');
  assert.is((await errorOf(made.remove('bad'))).name, 'DeploymentNotFound');
});

Life('unloads a deployment: calls finish, new ones are refused, its place is free, and it can be loaded', async () => {
  const made = await started({ one: onGpu(2, { max_ongoing_requests: 1 }), two: {} });
  const handle = made.handle('one');
  const [pid = 0] = pidsOf(made, 'one');
  const running = handle.call('wait', { ms: 3000 });
  const waiting = handle.call('spec', {});
  await until(() => made.status()['one']?.queued === 1, 'a call waits');
  const unloaded = made.unload('one');
  assert.is((await errorOf(made.update('one', sample()))).name, 'DeploymentBusy');
  const refused = await errorOf(handle.call('spec', {}));
  assert.equal([refused.name, refused.kind], ['DeploymentUnloaded', 'unavailable']);
  assert.match(refused.message, '"aana-host deployments load one"');
  await Promise.all([running, waiting, unloaded]);
  assert.not(isAlive(pid));
  assert.equal([stateOf(made, 'one'), made.readiness().ready], [['UNLOADED', 0], true]);
  await made.unload('one');
  made.register('other', sample(onGpu(2)));
  await made.deployOne('other');
  const full = await errorOf(made.load('one'));
  assert.is(full.name, 'InsufficientResources');
  assert.equal([stateOf(made, 'one'), made.readiness().ready], [['UNLOADED', 0], true]);
  await made.remove('other');
  assert.is((await made.update('one', sample({ user_config: { model: 'small' } }))).outcome, 'updated');
  await made.load('one');
  await made.load('one');
  assert.equal(stateOf(made, 'one'), ['RUNNING', 1]);
  assert.is(((await handle.call('spec', {})) as { path: string }).path, '/models/small');
});

Life('starts in sequence, each when the one before is ready', async () => {
  const made = manager({ one: {}, two: {} });
  const seen: string[] = [];
  await made.start({
    sequential: true,
    onProgress: ({ deployment, isReady, text }) =>
      (isReady || text.startsWith('fetching')) && seen.push(`${deployment} ${isReady ? 'ready' : 'begins'}`),
  });
  assert.equal(seen, ['one begins', 'one ready', 'two begins', 'two ready']);
});

/** By this clock a process starts quickly, even on a busy machine. */
const slow: Clock = { now: () => performance.now() / 20, delay: (ms, signal) => systemClock.delay(ms * 20, signal) };

Life('reports all deployments that failed to start, one line each', async () => {
  const made = manager(
    { good: {}, bad: { user_config: { model: 'absent' } }, worse: { user_config: { start: 'reject' } } },
    TWO_GPUS,
    slow,
  );
  const error = await errorOf(made.start());
  assert.is(error.name, 'FailedDeployment');
  const lines = [
    'deployment bad failed: absent could not be fetched from anywhere',
    'deployment worse failed: the file model.bin is truncated',
  ];
  assert.is(error.message, ['2 deployments failed:', ...lines.map((line) => `  ${line}`)].join('\n'));
  assert.equal(error.data, { deployments: { bad: lines[0], worse: lines[1] } });
});

Life('starts nothing after the first failure when it starts in sequence', async () => {
  const made = manager({ bad: { user_config: { start: 'reject' } }, good: {} });
  assert.match((await errorOf(made.start({ sequential: true }))).message, 'deployment bad failed');
  assert.equal(pidsOf(made, 'good'), []);
});

Life(
  'removes a deployment: running calls finish, new ones are refused, its place and its name become free',
  async () => {
    const made = await started({ one: onGpu(2), two: {} });
    const handle = made.handle('one');
    const [pid = 0] = pidsOf(made, 'one');
    const running = handle.call('wait', { ms: 200 });
    await handle.call('spec', {});
    const removed = made.remove('one');
    assert.is((await errorOf(handle.call('spec', {}))).name, 'DeploymentStopped');
    assert.is(await running, 200);
    await removed;
    assert.not.ok(isAlive(pid));
    assert.is((await errorOf(handle.call('spec', {}))).name, 'DeploymentNotFound');
    made.register('one', sample(onGpu(2)));
    await made.deployOne('one');
    assert.equal(await handle.call('echo', { text: 'again' }), { text: 'again', times: 1 });
  },
);

Life('ends the start of a deployment that is removed', async () => {
  const made = await started({ one: {} });
  made.register('slow', sample({ user_config: { start: 'hang' } }));
  const starting = errorOf(made.deployOne('slow'));
  await until(() => pidsOf(made, 'slow').length === 1, 'its process was there');
  const [pid = 0] = pidsOf(made, 'slow');
  assert.is((await errorOf(made.deployOne('slow'))).message, 'deployment slow is being started; try again later');
  await made.remove('slow');
  assert.match((await starting).message, 'is being removed');
  assert.not.ok(isAlive(pid));
});

Life('scales up and down', async () => {
  const made = await started({ one: onGpu(0.5) });
  const [first] = pidsOf(made, 'one');
  await made.scale('one', 3);
  assert.equal([stateOf(made, 'one'), pidsOf(made, 'one')[0]], [['RUNNING', 3], first]);
  await made.scale('one', 1);
  assert.equal(stateOf(made, 'one'), ['RUNNING', 1]);
});

Life('refuses more replicas than fit, naming demand and supply, and changes nothing', async () => {
  const made = await started({ one: onGpu(0.5, { num_replicas: 2 }) });
  const pids = pidsOf(made, 'one');
  const error = await errorOf(made.scale('one', 5));
  assert.match(
    error.message,
    /no room for deployment one: each of its 5 replicas asks for 0\.5 GPU; this machine has 2 GPU: fake with 75 GiB, /,
  );
  assert.equal(pidsOf(made, 'one'), pids);
  await made.scale('one', 4);
  assert.is(pidsOf(made, 'one').length, 4);
});

const BAD_SCALES: readonly (readonly [
  what: string,
  options: Options,
  replicas: Parameters<DeploymentManager['scale']>[1],
  pattern: RegExp,
])[] = [
  ['none at all', {}, 0, /num_replicas: .* 1/],
  ['half a replica', {}, 1.5, /num_replicas/],
  ['bounds of a fixed number', {}, { min_replicas: 1, max_replicas: 2 }, /fixed number of replicas/],
  ['more than the maximum', { autoscaling_config: { max_replicas: 2 } }, 3, /up to max_replicas 2/],
  [
    'a minimum over the maximum',
    { autoscaling_config: { max_replicas: 2 } },
    { min_replicas: 3, max_replicas: 2 },
    /less than min_replicas/,
  ],
];
for (const [what, options, replicas, pattern] of BAD_SCALES) {
  Life(`refuses to scale to ${what}`, async () => {
    const made = await started({ one: options });
    const error = await errorOf(made.scale('one', replicas));
    assert.equal([error.name, stateOf(made, 'one')], ['ValidationError', ['RUNNING', 1]]);
    assert.match(error.message, pattern);
  });
}

Life('sets the bounds of an autoscaled deployment', async () => {
  const made = await started({ one: { autoscaling_config: { min_replicas: 1, max_replicas: 3 } } });
  await made.scale('one', 2);
  assert.equal(stateOf(made, 'one'), ['RUNNING', 2]);
  await made.scale('one', { min_replicas: 0, max_replicas: 1 });
  assert.equal(stateOf(made, 'one'), ['RUNNING', 1]);
});

Life('replaces replicas during an update within the available devices', async () => {
  const made = await started({ one: onGpu(1, { num_replicas: 2 }) });
  const report = await made.update('one', sample(onGpu(1, { num_replicas: 2, user_config: { model: 'big' } })), FAST);
  assert.equal(report, {
    deployment: 'one',
    outcome: 'updated',
    how: 'rolling',
    replaced: 2,
    reason: '',
    lastLines: [],
  });
  assert.is((await specOf(made, 'one'))['path'], '/models/big');
  assert.equal(stateOf(made, 'one'), ['RUNNING', 2]);
});

Life('reports "unchanged" for the same options', async () => {
  const made = await started({ one: {} });
  assert.is((await made.update('one', sample())).outcome, 'unchanged');
});

Life('changes options of the host without touching replicas', async () => {
  const made = await started({ one: {} });
  const pids = pidsOf(made, 'one');
  const { outcome, how } = await made.update(
    'one',
    sample({ max_queued_requests: 0, max_ongoing_requests: 1, num_replicas: 2 }),
  );
  assert.equal([outcome, how, pidsOf(made, 'one')[0], pidsOf(made, 'one').length], ['updated', 'in-place', pids[0], 2]);
  const calls = [1, 2, 3].map(() => made.handle('one').call('wait', { ms: 200 }));
  assert.equal(
    (await Promise.allSettled(calls)).map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  );
});

Life('gives running replicas a configuration that they can take', async () => {
  const made = await started({ one: { num_replicas: 2 } });
  const pids = pidsOf(made, 'one');
  const { outcome, how } = await made.update('one', sample({ num_replicas: 2, user_config: { tone: 'kind' } }));
  assert.equal([outcome, how, pidsOf(made, 'one')], ['updated', 'in-place', pids]);
  process.kill(pids[0] ?? 0, 'SIGKILL');
  await until(
    () => made.status()['one']?.replicas[0]?.restarts === 1 && made.status()['one']?.status === 'RUNNING',
    'it was restarted',
  );
  assert.equal([(await specOf(made, 'one'))['tone'], (await specOf(made, 'one'))['tone']], ['kind', 'kind']);
});

Life('keeps the old configuration when a replica refuses the new one', async () => {
  const made = await started({ one: { user_config: { tone: 'kind' } } });
  const report = await made.update('one', sample({ user_config: { tone: 'rude', reconfigure: 'refuse' } }));
  assert.equal([report.outcome, report.reason], ['rolled-back', 'the sample does not like that']);
  assert.is((await specOf(made, 'one'))['tone'], 'kind');
});

Life('rolls back a bad version and reports the reason', async () => {
  const made = await started({ one: {} });
  const pids = pidsOf(made, 'one');
  const report = await made.update('one', sample({ user_config: { start: 'exit' } }), FAST);
  assert.equal([report.outcome, pidsOf(made, 'one')], ['rolled-back', pids]);
  assert.match(report.reason, 'sample: out of memory');
  assert.ok(report.lastLines.includes('sample: out of memory'));
  const missing = await made.update('one', sample({ user_config: { model: 'absent' } }), FAST);
  assert.equal(
    [missing.outcome, missing.reason],
    ['rolled-back', 'deployment one failed: absent could not be fetched from anywhere'],
  );
  assert.equal(stateOf(made, 'one'), ['RUNNING', 1]);
});

Life('refuses an update that fits on no device before it stops anything', async () => {
  const made = await started({ one: onGpu(1, { num_replicas: 2 }) });
  const pids = pidsOf(made, 'one');
  assert.is((await errorOf(made.update('one', sample(onGpu(2, { num_replicas: 2 }))))).name, 'InsufficientResources');
  assert.equal(pidsOf(made, 'one'), pids);
});

Life('keeps the places of old replicas for a rollback until the update has ended', async () => {
  const made = await started({ one: onGpu(1, { num_replicas: 2 }) });
  made.register('two', sample(onGpu(0.5)));
  const controller = new AbortController();
  const reason = new Error('cancelled');
  let deployed: Promise<string> | undefined;
  const onProgress = ({ text }: { readonly text: string }): void => {
    if (text !== 'starting a new replica') return;
    deployed ??= made
      .deployOne('two')
      .then(
        () => 'deployed',
        ({ name }: Error) => name,
      )
      .finally(() => controller.abort(reason));
  };
  const half = sample(onGpu(0.5, { num_replicas: 2, user_config: { start: 'hang' } }));
  assert.is(
    await made.update('one', half, { ...FAST, signal: controller.signal, onProgress }).catch((error: unknown) => error),
    reason,
  );
  assert.is(await deployed, 'InsufficientResources');
  assert.equal(
    [stateOf(made, 'one'), made.status()['one']?.replicas.map(({ state }) => state)],
    [
      ['RUNNING', 2],
      ['ready', 'ready'],
    ],
  );
  await made.update('one', sample(onGpu(0.5, { num_replicas: 2 })), FAST);
  await made.deployOne('two');
  assert.equal(stateOf(made, 'two'), ['RUNNING', 1]);
});

Life('rolls back an update that is cancelled while the only old replica finishes its calls', async () => {
  const made = await started({ one: onGpu(2) });
  made.register('two', sample(onGpu(1)));
  const call = made.handle('one').call('wait', { ms: 3000 });
  await until(() => made.status()['one']?.replicas[0]?.ongoing === 1, 'the call ran');
  const controller = new AbortController();
  const reason = new Error('cancelled');
  const updated = made
    .update('one', sample(onGpu(1)), { ...FAST, signal: controller.signal })
    .catch((error: unknown) => error);
  await until(() => made.status()['one']?.replicas[0]?.state === 'draining', 'it was told to go');
  controller.abort(reason);
  assert.is(await updated, reason);
  assert.equal(
    [await call, stateOf(made, 'one'), made.status()['one']?.replicas[0]?.state],
    [3000, ['RUNNING', 1], 'ready'],
  );
  assert.is((await errorOf(made.deployOne('two'))).name, 'InsufficientResources');
});

Life('refuses a second change while one is in progress', async () => {
  const made = await started({ one: {} });
  const updated = made.update('one', sample({ user_config: { model: 'big' } }), FAST);
  for (const second of [made.update('one', sample()), made.scale('one', 2)]) {
    assert.is((await errorOf(second)).message, 'deployment one is already being changed; try again later');
  }
  assert.is((await updated).outcome, 'updated');
});

Life('refuses to change the type of a deployment', async () => {
  const made = await started({ one: {} });
  assert.match(
    (await errorOf(made.update('one', { type: 'WhisperDeployment' }))).message,
    'deployment one is a SampleDeployment and cannot become a WhisperDeployment',
  );
});

Life('leaves no process behind when it shuts down during an update', async () => {
  const made = await started({ one: { num_replicas: 2 } });
  const updated = errorOf(made.update('one', sample({ num_replicas: 2, user_config: { start: 'hang' } })));
  await until(() => pidsOf(made, 'one').length === 3, 'the new replica was there');
  const pids = pidsOf(made, 'one');
  await made.shutdown({ graceMs: 1000 });
  assert.is((await updated).name, 'DeploymentStopped');
  assert.not.ok(pids.some(isAlive));
});

Life('describes the configuration and methods of deployments', () => {
  const described = manager({ one: {} }).describe()['one'];
  assert.equal(
    [described?.type, described?.methods['count']?.streaming, described?.methods['echo']?.description],
    ['SampleDeployment', true, 'Returns its arguments.'],
  );
  assert.equal(Object(described?.methods['echo']?.inputSchema)['required'], ['text']);
  assert.ok('tone' in Object(described?.configSchema)['properties']);
});

Life.run();
