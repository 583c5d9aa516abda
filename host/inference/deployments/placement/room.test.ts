// Deployments that sleep and wake on declared GPUs, with real replica processes.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaError } from '../../../base/core/errors.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { until } from '../../replicas/fixtures/sample-sets.ts';
import type { MemoryProbe } from '../../devices/index.ts';
import type { CallProgress } from '../../replicas/index.ts';
import { DeploymentManager } from '../manager/deployment-manager.ts';
import type { DeploymentOptionsInput } from '../class/deployment-options.ts';
import { SampleDeployment } from '../fixtures/sample-deployment.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';

const Room = suite('room for deployments that wake');

const open = new Set<DeploymentManager>();

/** By default every deployment takes one GPU and may sleep. */
async function started(
  gpus: number,
  deployments: Record<string, Partial<DeploymentOptionsInput>>,
  probe?: MemoryProbe,
): Promise<DeploymentManager> {
  const machine = {
    probe,
    gpus: Array.from({ length: gpus }, (_, index) => ({ id: `GPU-${index}`, name: 'fake', memoryBytes: 80e9 })),
    memoryBytes: 64e9,
  };
  const models = { pull: async (id: string) => ({ path: `/models/${id}` }) };
  const made = new DeploymentManager({
    log: silentLogger,
    env: process.env,
    definitions: [SampleDeployment],
    machine: async () => machine,
    models,
  });
  open.add(made);
  for (const [name, options] of Object.entries(deployments)) {
    made.register(name, {
      type: 'SampleDeployment',
      ray_actor_options: { num_gpus: 1 },
      autoscaling_config: { min_replicas: 0 },
      ...options,
    });
  }
  await made.start();
  return made;
}

const use = (made: DeploymentManager, name: string): Promise<unknown> => made.handle(name).call('echo', { text: name });
const awake = (made: DeploymentManager): string[] =>
  Object.entries(made.status()).flatMap(([name, { replicas }]) => replicas.map(() => name));

Room.after.each(async () => {
  await Promise.all([...open].map((each) => each.shutdown({ graceMs: 0 })));
  open.clear();
});

Room('is made by an idle deployment', async () => {
  const made = await started(1, { one: {}, two: {} });
  await use(made, 'one');
  assert.equal(await use(made, 'two'), { text: 'two', times: 1 });
  assert.equal([awake(made), made.status()['one']?.status], [['two'], 'RUNNING']);
  assert.equal(await use(made, 'one'), { text: 'one', times: 1 });
});

Room('is missing while other programs use the memory, and returns when they end', async () => {
  let free = 80e9;
  const made = await started(
    1,
    { one: { user_config: { weights_bytes: 50e9 } } },
    { freeGpuBytes: async () => [free] },
  );
  free = 20e9;
  const error = await errorOf(use(made, 'one'));
  assert.is(error.name, 'InsufficientResources');
  assert.match(error.message, '56 GiB used by other programs');
  assert.equal(awake(made), []);
  free = 80e9;
  assert.equal(await use(made, 'one'), { text: 'one', times: 1 });
});

Room('is looked for again when a deployment is scaled', async () => {
  let free = 80e9;
  const made = await started(
    1,
    {
      one: {
        ray_actor_options: { num_gpus: 0.5 },
        user_config: { weights_bytes: 30e9 },
        autoscaling_config: undefined,
      },
    },
    { freeGpuBytes: async () => [free] },
  );
  free = 5e9; // the replica has 30e9 of the rest
  const error = await made.scale('one', 2).then(
    () => undefined,
    (reason: unknown) => reason as AanaError,
  );
  assert.is(error?.name, 'InsufficientResources');
  free = 50e9;
  await made.scale('one', 2);
  assert.equal(awake(made), ['one', 'one']);
});

Room('is made by the least recently used deployment', async () => {
  const made = await started(2, { one: {}, two: {}, three: {} });
  for (const name of ['one', 'two', 'one', 'three']) await use(made, name);
  assert.equal(awake(made), ['one', 'three']);
});

Room('is not made by a deployment in use: the call is refused, and the error names demand and supply', async () => {
  const made = await started(1, { one: {}, two: {} });
  const running = made.handle('one').call('wait', { ms: 2000 });
  await until(() => made.status()['one']?.replicas[0]?.ongoing === 1, 'the call ran');
  const error = await errorOf(use(made, 'two'));
  assert.equal([error.name, error.kind], ['InsufficientResources', 'unavailable']);
  assert.match(
    error.message,
    /there is no room for deployment two: it asks for 1 GPU; this machine has 1 GPU: fake with 75 GiB, 100 %/,
  );
  assert.is(await running, 2000);
  assert.equal(await use(made, 'two'), { text: 'two', times: 1 });
});

Room('is not made by a pinned deployment', async () => {
  const made = await started(1, { one: { pinned: true }, two: {} });
  await use(made, 'one');
  assert.is((await errorOf(use(made, 'two'))).name, 'InsufficientResources');
  assert.equal(awake(made), ['one']);
});

Room('is not made by replicas that must run', async () => {
  const made = await started(2, { one: { autoscaling_config: { min_replicas: 1, max_replicas: 2 } }, two: {} });
  await made.scale('one', 2);
  await made.scale('one', { min_replicas: 1, max_replicas: 2 });
  await use(made, 'two');
  assert.equal(awake(made), ['one', 'two']);
});

Room('is made only once for two deployments that wake at the same time', async () => {
  const made = await started(2, { one: {}, two: {}, three: {}, four: {} });
  await Promise.all([use(made, 'one'), use(made, 'two')]);
  for (const [first, second] of [
    ['three', 'four'],
    ['one', 'two'],
    ['four', 'three'],
  ] as const) {
    assert.equal(await Promise.all([use(made, first), use(made, second)]), [
      { text: first, times: 1 },
      { text: second, times: 1 },
    ]);
    assert.equal(awake(made).sort(), [first, second].sort());
  }
});

Room('is not waited for on devices that are not needed', async () => {
  const made = await started(2, { leaving: {}, idle: {}, waking: {} });
  await use(made, 'idle');
  let hasEnded = false;
  const client = new AbortController();
  const running = made
    .handle('leaving')
    .call('wait', { ms: 60_000 }, { signal: client.signal })
    .catch(() => {})
    .then(() => (hasEnded = true));
  await until(() => made.status()['leaving']?.replicas[0]?.ongoing === 1, 'the call ran');
  const removed = made.remove('leaving');
  assert.equal(await use(made, 'waking'), { text: 'waking', times: 1 });
  assert.equal([hasEnded, made.status()['idle']?.replicas], [false, []]);
  client.abort(new Error('enough'));
  await Promise.all([running, removed]);
});

Room('is made by a replica that finishes its last calls, after its grace, when there is no other', async () => {
  const made = await started(1, {
    leaving: { graceful_shutdown_timeout_s: 0.05, autoscaling_config: { min_replicas: 0, max_replicas: 2 } },
    waking: {},
  });
  const running = errorOf(made.handle('leaving', { num_retries: 0 }).call('wait', { ms: 60_000 }));
  await until(() => made.status()['leaving']?.replicas[0]?.ongoing === 1, 'the call ran');
  const removed = made.remove('leaving');
  assert.equal(await use(made, 'waking'), { text: 'waking', times: 1 });
  assert.is((await running).name, 'ReplicaLostError');
  await removed;
});

Room('is made by a failed deployment, which keeps its reason', async () => {
  const made = await started(1, { broken: { user_config: { start: 'exit' }, pinned: true }, two: {} });
  const error = await errorOf(use(made, 'broken'));
  assert.is(error.name, 'FailedDeployment');
  assert.equal(await use(made, 'two'), { text: 'two', times: 1 });
  const { status, message, lastLines } = made.status()['broken'] ?? {};
  assert.equal(
    [status, error.message.endsWith(String(message)), lastLines?.includes('sample: out of memory')],
    ['DEPLOY_FAILED', true, true],
  );
  assert.is((await errorOf(use(made, 'broken'))).message, error.message);
});

Room('is waited for with progress, which the status shows, too', async () => {
  const made = await started(1, { slow: { user_config: { start: 'slow' } } });
  const [progress, shown]: [CallProgress[], unknown[]] = [[], []];
  const onProgress = (step: CallProgress): void => {
    progress.push(step);
    shown.push(made.status()['slow']?.replicas[0]?.loading);
  };
  await made.handle('slow').call('echo', { text: '' }, { onProgress });
  assert.equal(
    progress.map(({ fraction }) => fraction),
    [undefined, 0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875],
  );
  assert.equal(
    progress,
    (shown as object[]).map((loading) => ({ stage: 'loading', ...loading })),
  );
  assert.is(made.status()['slow']?.replicas[0]?.loading, undefined);
  await made.handle('slow').call('echo', { text: '' }, { onProgress });
  assert.is(progress.length, 9);
});

Room.run();
