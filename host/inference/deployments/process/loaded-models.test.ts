import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deferred } from '../../../base/core/deferred.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { Random } from '../../../test/simulation/random.ts';
import { LoadedModels, type ModelInUse } from './loaded-models.ts';

const Models = suite('the models of a multiplexed class');

const turn = (): Promise<void> => new Promise(setImmediate);

interface Model {
  readonly id: string;
  readonly bytes: number;
  users: number;
  isGone: boolean;
  dispose(): Promise<void>;
}

/** Loads and unloads models in random time. `wrong` has what must not happen. */
function world(random: Random, limits: { maxModels: number; maxBytes?: number }, isRenewed: boolean) {
  /** Models that are being loaded, are loaded, or are being unloaded. */
  const present = new Set<{ readonly id: string; bytes: number }>();
  const wrong: string[] = [];
  let [loads, told]: [number, readonly string[]] = [0, []];
  const wait = async (): Promise<void> => {
    for (let turns = random.int(0, 3); turns > 0; turns -= 1) await turn();
  };
  const models = new LoadedModels({
    limits,
    log: silentLogger,
    load: async (id) => {
      if (!isRenewed && [...present].some((one) => one.id === id)) wrong.push(`${id} is there twice`);
      const place = { id, bytes: 0 };
      present.add(place);
      loads += 1;
      if (present.size > limits.maxModels) wrong.push('too many models');
      await wait();
      if (random.chance(0.1)) {
        present.delete(place);
        throw new Error(`no ${id}`);
      }
      const model: Model = {
        ...{ id, users: 0, isGone: false, bytes: random.int(1, 40) },
        dispose: async () => {
          if (model.users > 0) wrong.push(`${id} is unloaded while it is used`);
          if (model.isGone) wrong.push(`${id} is unloaded twice`);
          model.isGone = true;
          await wait();
          present.delete(place);
        },
      };
      place.bytes = model.bytes;
      return model;
    },
    onChange: (ids) => (told = ids),
  });
  return { models, present, wrong, wait, loads: () => loads, told: () => told };
}

Models('never unloads a model in use, never has too many or one twice, and lets no call wait for ever', async () => {
  for (let seed = 1; seed <= 150; seed += 1) {
    const random = new Random(seed);
    const limits = { maxModels: random.int(1, 4), ...(random.chance(0.5) && { maxBytes: random.int(40, 100) }) };
    const isRenewed = random.chance(0.3);
    const { models, present, wrong, loads, wait, told } = world(random, limits, isRenewed);
    const outcomes = { served: 0, failed: 0, left: 0 };
    const call = async (): Promise<void> => {
      await wait();
      const caller = new AbortController();
      const id = `m${random.int(1, 6)}`;
      if (random.chance(0.2)) setImmediate(() => caller.abort(new Error('left')));
      let used: ModelInUse;
      try {
        used = await models.use(id, caller.signal);
      } catch (error) {
        outcomes[(error as Error).message === 'left' ? 'left' : 'failed'] += 1;
        return;
      }
      const model = used.model as Model;
      assert.is(model.id, id);
      assert.not(model.isGone);
      model.users += 1;
      await wait();
      if (isRenewed && random.chance(0.05)) models.renew();
      model.users -= 1;
      used.release();
      outcomes.served += 1;
    };
    // Waves, so that models are also loaded for many callers, idle, and asked for again.
    for (let wave = 0; wave < 4; wave += 1) await Promise.all(Array.from({ length: 12 }, call));
    for (let turns = 0; turns < 20; turns += 1) await turn();
    assert.is(outcomes.served + outcomes.failed + outcomes.left, 48);
    assert.ok(loads() <= 48);
    assert.equal(wrong, []);
    assert.equal(told().toSorted(), [...present].map(({ id }) => id).toSorted(), 'the host knows what is there');
    const bytes = [...present].reduce((sum, model) => sum + model.bytes, 0);
    assert.ok(bytes <= (limits.maxBytes ?? Infinity), 'what nobody uses is within the limit');
    await models.close();
    assert.is(present.size, 0);
  }
});

Models('unloads the least recently used model', async () => {
  const random = new Random(3);
  const loaded: string[] = []; // the least recently used one first
  const gone: string[] = [];
  const models = new LoadedModels({
    limits: { maxModels: 3 },
    log: silentLogger,
    load: (id) => ({ dispose: () => void gone.push(id) }),
    onChange: () => {},
  });
  for (let n = 0; n < 500; n += 1) {
    const id = `m${random.int(1, 5)}`;
    gone.length = 0;
    (await models.use(id)).release();
    const known = loaded.indexOf(id);
    if (known >= 0) loaded.splice(known, 1);
    loaded.push(id);
    assert.equal(gone, loaded.length > 3 ? [loaded.shift()] : []);
  }
});

Models('loads once for all who wait, and a failed load fails them alone', async () => {
  let loads = 0;
  const gates = [deferred<void>(), deferred<void>()];
  const models = new LoadedModels({
    limits: { maxModels: 2 },
    log: silentLogger,
    load: async (id) => {
      loads += 1;
      if (id === 'good') return { id };
      await gates[loads - 2]!.promise;
      return { id };
    },
    onChange: () => {},
  });
  const good = await models.use('good');
  const both = [models.use('bad'), models.use('bad')];
  gates[0]!.reject(new Error('damaged'));
  for (const outcome of await Promise.allSettled(both))
    assert.match(String(outcome.status === 'rejected' && outcome.reason), 'damaged');
  assert.is(loads, 2);
  gates[1]!.resolve();
  (await models.use('bad')).release();
  assert.is(loads, 3, 'the next call tries again');
  (await models.use('good')).release();
  good.release();
  assert.is(loads, 3);
});

Models('a model in steady use gives way to one that waits', async () => {
  const models = new LoadedModels({
    ...{ limits: { maxModels: 1 }, log: silentLogger, onChange: () => {} },
    load: (id) => ({ id }),
  });
  const order: string[] = [];
  let held = await models.use('a');
  const other = models.use('b').then((used) => {
    order.push('b');
    return used;
  });
  const back = models.use('a').then((used) => {
    order.push('a');
    return used;
  });
  await turn();
  assert.equal(order, []);
  held.release();
  held = await other;
  await turn();
  assert.equal(order, ['b']);
  held.release();
  (await back).release();
  assert.equal(order, ['b', 'a']);
});

Models('refuses a model that is larger than all may be', async () => {
  const gone: string[] = [];
  const models = new LoadedModels({
    ...{ limits: { maxModels: 2, maxBytes: 100 }, log: silentLogger, onChange: () => {} },
    load: (id) => ({ bytes: id === 'large' ? 101 : 60, dispose: () => void gone.push(id) }),
  });
  const refusal = await errorOf(models.use('large'));
  assert.is(refusal.message, 'model large has 101 bytes; the most for all models together is 100');
  assert.equal(gone, ['large']);
  (await models.use('one')).release();
  (await models.use('two')).release();
  assert.equal(gone, ['large', 'one'], 'two of 60 bytes are more than 100');
});

Models('says what is wrong with what a class returns, and goes on', async () => {
  for (const [returned, message] of [
    [undefined, 'loadModel returned no object for model wrong'],
    ['text', 'loadModel returned no object for model wrong'],
    [{ bytes: Number.NaN }, 'the bytes of model wrong must be a number from 0, not NaN'],
    [{ bytes: -1 }, 'the bytes of model wrong must be a number from 0, not -1'],
    [{ bytes: '5' }, 'the bytes of model wrong must be a number from 0, not 5'],
  ] as const) {
    const models = new LoadedModels({
      ...{ limits: { maxModels: 1, maxBytes: 9 }, log: silentLogger, onChange: () => {} },
      load: (id) => (id === 'wrong' ? (returned as never) : {}),
    });
    assert.is((await errorOf(models.use('wrong'), TypeError)).message, message);
    (await models.use('good')).release();
  }
});

Models.run();
