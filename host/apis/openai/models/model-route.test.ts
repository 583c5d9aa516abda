import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError, fail } from '../../../base/core/errors.ts';
import type { ModelAlias, ModelDirectory, ServedModel } from '../../../inference/deployments/index.ts';
import type { RunContext } from '../run-context.ts';
import { hears, type ModelWish, routeOf, withModel } from './model-route.ts';

const Routes = suite('routes to the models of an alias');

function directory(alias: Partial<ModelAlias>, more: Readonly<Record<string, Partial<ServedModel>>> = {}) {
  const fallbacks: string[] = [];
  const methods = new Set(['chat', 'chat_stream']);
  const none = (): never => assert.unreachable('no call is expected') as never;
  const models: ModelDirectory = {
    aliases: { gpt: { deployments: [], fallbacks: [], fallback_after_s: null, ...alias } },
    list: () =>
      ['a', 'b', 'c'].map((name) => ({
        ...{
          name,
          methods,
          modelId: undefined,
          adapters: ['sql'],
          takesImages: false,
          takesInputTypes: false,
          takesAudio: false,
          maxTokens: undefined,
        },
        state: 'RUNNING',
        ...more[name],
      })),
    onFallback: ({ from, to }) => void fallbacks.push(`${from} ${to}`),
    call: none,
    stream: none,
  };
  return { models, fallbacks };
}

const weights = (all: Readonly<Record<string, number>>): ModelAlias['deployments'] =>
  Object.entries(all).map(([name, weight]) => ({ name, weight }));
const context = (more: Partial<RunContext> = {}): RunContext => ({ signal: new AbortController().signal, ...more });
const asking = (...texts: unknown[]): ModelWish => ({
  name: 'gpt',
  capability: 'chat',
  dialog: texts.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content })),
});
const DIALOGS = Array.from({ length: 2000 }, (_, number) => `question ${number}`);

/** Returns the model that each dialog gets. */
const chosenWith = (all: Readonly<Record<string, number>>): string[] => {
  const { models } = directory({ deployments: weights(all) });
  return DIALOGS.map((text) => routeOf(models, asking(text), context()).chosen.model.name);
};

Routes('give dialogs to models by their weights', () => {
  for (const all of [
    { a: 9, b: 1 },
    { a: 1, b: 1, c: 2 },
    { a: 0.5, b: 0 },
  ]) {
    const chosen = chosenWith(all);
    const sum = Object.values(all).reduce((one, other) => one + other);
    for (const [name, weight] of Object.entries(all)) {
      const share = chosen.filter((one) => one === name).length / chosen.length;
      assert.ok(Math.abs(share - weight / sum) < 0.05, `${name} of ${JSON.stringify(all)} has ${share}`);
    }
  }
});

Routes('keep a dialog with its model, and keep users apart', () => {
  const { models } = directory({ deployments: weights({ a: 1, b: 1 }) });
  const of = (wish: ModelWish, userId: string): string => routeOf(models, wish, context({ userId })).chosen.model.name;
  const differs = DIALOGS.filter((text) => {
    const first = of(asking(text), 'ann');
    assert.is(of(asking(text, 'answer', 'more?', 'answer'), 'ann'), first);
    return of(asking(text), 'bob') !== first;
  });
  assert.ok(differs.length > 0.4 * DIALOGS.length && differs.length < 0.6 * DIALOGS.length);
});

Routes('move only the dialogs that a change of a weight moves', () => {
  const [before, after] = [chosenWith({ a: 1, b: 1, c: 1 }), chosenWith({ a: 1, b: 1, c: 2 })];
  for (const [at, name] of before.entries()) assert.ok(after[at] === name || after[at] === 'c', `${name} ${after[at]}`);
  assert.ok(before.some((name, at) => name !== after[at]));
});

Routes('choose among requests without a dialog at random', () => {
  const { models } = directory({ deployments: weights({ a: 1, b: 1 }) });
  const chosen = DIALOGS.map(() => routeOf(models, { name: 'gpt', capability: 'chat' }, context()).chosen.model.name);
  assert.equal([...new Set(chosen)].toSorted(), ['a', 'b']);
});

Routes('go only to models that can do what is asked', () => {
  const image = [{ type: 'image_url', image_url: { url: 'data:' } }];
  const all = { deployments: weights({ a: 1000, b: 1 }), fallbacks: ['a', 'c', 'gone', 'c', 'c:sql', 'b'] };
  const { models } = directory(all, { b: { takesImages: true }, c: { methods: new Set(['chat']) } });
  const names = (wish: ModelWish): string[] => {
    const { chosen, fallbacks } = routeOf(models, wish, context());
    return [chosen, ...fallbacks].map(({ model, adapter }) => (adapter ? `${model.name}:${adapter}` : model.name));
  };
  assert.equal(names(asking(image)), ['b']);
  assert.equal(names(asking('text')).toSorted(), ['a', 'b']);
  assert.equal(names({ ...asking('text'), name: 'gpt:sql' }).toSorted(), ['a:sql', 'b:sql']);
  const { models: blind } = directory(all);
  assert.equal(routeOf(blind, asking(image), context()).fallbacks.length, 3, 'the model itself refuses the image');
});

Routes('give images to models that see them before those that read their texts, whatever their weights', () => {
  const image = [{ type: 'image_url', image_url: { url: 'data:' } }];
  const alias = { deployments: weights({ a: 1000, b: 1 }), fallbacks: ['a'] };
  const reads = { takesImages: true, takesTextsOfImages: true };
  const names = (others: Parameters<typeof directory>[1], content: unknown): string[] => {
    const { chosen, fallbacks } = routeOf(directory(alias, others).models, asking(content), context());
    return [chosen, ...fallbacks].map(({ model }) => model.name);
  };
  assert.equal(names({ a: reads, b: { takesImages: true } }, image), ['b', 'a'], 'the fallback may read');
  assert.equal(names({ a: reads }, image), ['a']);
  assert.is(names({ a: reads, b: reads }, image)[0], 'a');
  assert.is(names({ a: reads, b: { takesImages: true } }, 'text')[0], 'a');
});

Routes('leave audio to models that hear it, if they take the images, too', () => {
  const sound = { type: 'input_audio', input_audio: { data: '', format: '' } };
  const image = { type: 'image_url', image_url: { url: 'data:' } };
  const alias = { deployments: weights({ a: 1 }), fallbacks: ['b', 'c'] };
  const { models } = directory(alias, { b: { takesAudio: true }, c: { takesImages: true } });
  assert.ok(hears(models, asking([sound])));
  assert.not.ok(hears(models, asking([sound, image])), 'the model that sees gets the transcript');
  const { models: able } = directory(alias, { b: { takesAudio: true, takesImages: true }, c: { takesImages: true } });
  assert.ok(hears(able, asking([sound, image])));
});

const busy = (): Error => fail('DeploymentNotStarted', 'busy', { data: { deployment: 'a' } });

Routes('lead to the fallbacks in turn after faults that are not the caller’s', async () => {
  const { models, fallbacks } = directory({ deployments: weights({ a: 1 }), fallbacks: ['b', 'c'] });
  const told: string[] = [];
  const tries = (errors: Readonly<Record<string, Error>>): Promise<string> =>
    withModel(models, asking('?'), context({ tellDeployment: (name) => void told.push(name) }), async ({ model }) => {
      const error = errors[model.name];
      if (error) throw error;
      return model.name;
    });
  assert.is(await tries({ a: busy(), b: fail('InvalidOutput', 'broken') }), 'c');
  assert.equal(
    [fallbacks.splice(0), told.splice(0)],
    [
      ['a b', 'b c'],
      ['a', 'b', 'c'],
    ],
  );
  const cause = new AanaError('ReplicaLostError', 'unavailable', 'lost', { fault: 'dependency' });
  assert.is(await tries({ a: cause }), 'b', 'a deployment that the model calls was lost');
  fallbacks.splice(0);
  for (const error of [
    fail('InvalidParameter', 'wrong'),
    fail('DeadlineExceeded', 'late', { data: { model_name: 'a' } }),
  ])
    assert.is(await tries({ a: error }).catch((thrown: unknown) => thrown), error);
  assert.equal(fallbacks, []);
  const [last] = [busy()];
  assert.is(await tries({ a: busy(), b: busy(), c: last }).catch((thrown: unknown) => thrown), last);
});

Routes('lead nowhere else for a stream that has begun and for a caller who left', async () => {
  const { models, fallbacks } = directory({ deployments: weights({ a: 1 }), fallbacks: ['b'] });
  const leaving = new AbortController();
  const error = busy();
  for (const before of [(tried: RunContext) => tried.begin?.(), () => leaving.abort()]) {
    const work = async (_: unknown, tried: RunContext): Promise<never> => {
      before(tried);
      throw error;
    };
    const given = context({ signal: leaving.signal });
    assert.is(await withModel(models, asking('?'), given, work).catch((thrown: unknown) => thrown), error);
  }
  assert.equal(fallbacks, []);
});

Routes('lead to a fallback when an answer does not begin in time, and leave one that has begun', async () => {
  const { models, fallbacks } = directory({
    ...{ deployments: weights({ a: 1 }), fallbacks: ['b'], fallback_after_s: 0.001 },
  });
  const aborted = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  const waiting = withModel(models, asking('?'), context(), async ({ model: { name } }, { signal }) =>
    name === 'a' ? aborted(signal) : name,
  );
  assert.is(await waiting, 'b');
  assert.equal(fallbacks.splice(0), ['a b']);
  let late: AbortSignal | undefined;
  const begun = withModel(models, asking('?'), context(), async ({ model: { name } }, tried) => {
    tried.begin?.();
    late = tried.signal;
    await withModel(models, asking('?'), context(), async (inner, { signal }) =>
      inner.model.name === 'a' ? aborted(signal) : undefined,
    ); // longer than the time
    return name;
  });
  assert.equal([await begun, late?.aborted], ['a', false]);
});

Routes.run();
