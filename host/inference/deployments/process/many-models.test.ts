// A class with many models, in real replicas.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { until } from '../../replicas/fixtures/sample-sets.ts';
import { DeploymentManager } from '../manager/deployment-manager.ts';
import { ManyModelsDeployment } from '../fixtures/many-models-deployment.ts';
import { RelayDeployment } from '../fixtures/relay-deployment.ts';
import { SentimentDeployment } from '../fixtures/sentiment-deployment.ts';
import type { HandleOf } from '../handle/typed-handle.ts';

const Many = suite('a deployment with many models');

type Handle = HandleOf<typeof ManyModelsDeployment>;

let manager: DeploymentManager;
let many: Handle;
const of = (id: string): Handle => many.options({ multiplexedModelId: id });
/** The models of the replicas, as the host knows them. */
const known = (): string[][] => (manager.status()['many']?.replicas ?? []).map(({ models }) => [...models]);

Many.before.each(async () => {
  const models = { pull: async (id: string) => ({ path: id }) };
  manager = new DeploymentManager({ log: silentLogger, models, env: { ...process.env } });
  manager.register('many', ManyModelsDeployment.options({ num_replicas: 2, max_ongoing_requests: 20 }));
  manager.register('relay', RelayDeployment.options({ handles: { next: 'many' } }));
  await manager.start();
  many = manager.handle('many') as Handle;
});
Many.after.each(() => manager.shutdown({ graceMs: 0 }));

Many('loads a model when it is asked for, once, and spreads models over the replicas', async () => {
  const ids = ['a', 'b', 'c', 'd'];
  const first = await Promise.all(ids.map((id) => of(id).answer()));
  assert.equal(
    first.map(({ model, load }) => [model, load]),
    ids.map((id) => [id, 1]),
  );
  const places = new Map(first.map(({ model, pid }) => [model, pid]));
  const most = Math.max(...[...new Set(places.values())].map((pid) => first.filter((one) => one.pid === pid).length));
  assert.is(most, 2, 'each replica has two of four');
  const again = await Promise.all(Array.from({ length: 40 }, (_, n) => of(ids[n % 4]!).answer()));
  for (const { model, load, pid } of again) assert.equal([load, pid], [1, places.get(model)], model);
  await until(() => known().flat().toSorted().join() === 'a,b,c,d', 'the status shows the models');
});

Many('unloads the least recently used model, and not one in use', async () => {
  const [one] = [await of('a').answer()];
  const stream = of('a').words();
  assert.is((await stream.next()).value, 'a');
  for (const id of ['b', 'c', 'd', 'e', 'f', 'g']) await of(id).answer();
  assert.is((await of('a').answer()).load, 1, 'its stream has kept it');
  for (let n = 0; n < 100; n += 1) assert.is((await stream.next()).value, 'a');
  await stream.return();
  const loaded = await Promise.all(Array.from({ length: 20 }, () => many.loaded()));
  for (const { ids, pid } of loaded) {
    assert.ok(ids.length <= 2, ids.join());
    if (pid === one.pid) assert.ok(ids.includes('a'));
  }
});

Many('repeats a call for a model elsewhere when its replica is lost, which then has no models', async () => {
  const { pid } = await of('a').answer();
  await errorOf(of('a').options({ timeoutS: 30 }).die());
  const after = await of('a').answer();
  assert.is.not(after.pid, pid);
  await until(() => manager.status()['many']!.replicas.every(({ state }) => state === 'ready'), 'it runs again');
  assert.ok(known().flat().length <= 2);
});

Many('fails only the calls whose model cannot be loaded, with the error of the class', async () => {
  const [good, ...bad] = await Promise.allSettled([of('a').answer(), of('none').answer(), of('none').answer()]);
  assert.is(good.status, 'fulfilled');
  for (const outcome of bad)
    assert.match(String(outcome.status === 'rejected' && outcome.reason), 'NoSuchModel: there is no model none');
  assert.is((await errorOf(of('huge').answer())).name, 'ModelTooLarge');
  assert.not(known().flat().includes('none'));
});

Many('computes calls of the same model together', async () => {
  const ids = ['a', 'b'];
  const results = await Promise.all(
    Array.from({ length: 12 }, (_, n) => of(ids[n % 2]!).together({ text: `${ids[n % 2]}${n}` })),
  );
  for (const [n, { model, texts }] of results.entries()) {
    assert.is(model, ids[n % 2]);
    assert.ok(
      texts.every((text) => text.startsWith(model)),
      texts.join(),
    );
  }
  assert.ok(results.some(({ texts }) => texts.length > 1));
});

Many('loads models anew after a change of the configuration', async () => {
  assert.is((await of('a').answer()).tone, 'plain');
  const options = { num_replicas: 2, max_ongoing_requests: 20, user_config: { tone: 'kind' } };
  const { how } = await manager.update('many', ManyModelsDeployment.options(options));
  assert.is(how, 'in-place');
  const { tone, load } = await of('a').answer();
  assert.equal([tone, load > 1 || known().length > 1], ['kind', true]);
});

Many('needs a name where the method needs a model, and refuses a wrong one', async () => {
  assert.is((await errorOf(many.answer())).name, 'ModelNotNamed');
  assert.is((await many.loaded()).named, null);
  for (const id of ['', 'x'.repeat(257), 7 as never]) {
    assert.is((await errorOf(Promise.resolve().then(() => of(id)))).name, 'ValidationError');
    const refused = await errorOf(many.answer({}, { multiplexedModelId: id }));
    assert.match(refused.message, 'deployment many: multiplexedModelId');
  }
  const { message } = await errorOf(manager.handle('relay').call('passed', {}, { multiplexedModelId: 'a' }));
  assert.match(message, 'deployment relay: multiplexedModelId: RelayDeployment is no class with many models');
});

Many('takes the model from another deployment, which does not pass on its own', async () => {
  const relay = manager.handle('relay') as HandleOf<typeof RelayDeployment>;
  const ask = async (limits: object): Promise<unknown> =>
    ((await relay.ask({ method: 'loaded', limits })) as { named: unknown }).named;
  assert.equal([await ask({ multiplexedModelId: 'x' }), await ask({})], ['x', null]);
});

Many('is refused with limits that mean nothing, or without loadModel', () => {
  for (const multiplexed of [{ maxModels: 0 }, { maxModels: 1001 }, { maxModels: 2, maxBytes: 0 }, 3, {}]) {
    class Wrong extends ManyModelsDeployment {
      static override readonly multiplexed = multiplexed as never;
    }
    assert.throws(() => Wrong.options(), /Wrong: static multiplexed must be an object/);
  }
  class Without extends SentimentDeployment {
    static readonly multiplexed = { maxModels: 2 };
  }
  assert.throws(() => Without.options(), /static multiplexed and the method loadModel need each other/);
});

Many.run();
