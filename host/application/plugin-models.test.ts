import { mkdirSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildTestPlugin } from '../endpoints/plugins/fixtures/build-test-plugin.ts';
import { EchoTextGeneration } from '../inference/deployments/fixtures/echo-text-generation.ts';
import { ManyModelsDeployment } from '../inference/deployments/fixtures/many-models-deployment.ts';
import { keepingPlugins, makeApp, makeFolder, postJson, started } from './fixtures/test-app.ts';

const Models = suite('plugins that call deployments with many models');
const folder = makeFolder();
Models.after(() => rmSync(folder, { recursive: true, force: true }));

const SOURCE = `
import { defineEndpoint, definePlugin, z } from 'aana-host/plugin';

const told = (call) => call.catch((error) => error.name + ': ' + error.message);
const models = defineEndpoint({
  name: 'models', path: '/models', summary: '', input: z.strictObject({ model: z.any() }), output: z.any(),
  async run({ model }, ctx) {
    const many = ctx.deployment('many');
    const one = many.options({ multiplexedModelId: model });
    const answer = await told(one.call('answer').then(({ model }) => model));
    const stream = one.stream('words');
    const words = [];
    try {
      for await (const word of stream) if (words.push(word) === 3) break;
    } catch (error) {
      words.push(error.name);
    }
    const other = await told(one.options({ multiplexedModelId: 'other' }).call('answer').then(({ model }) => model));
    return { answer, words, other, unnamed: (await told(many.call('answer'))).split(':')[0] };
  },
});
const single = defineEndpoint({
  name: 'single', path: '/single', summary: '', input: z.strictObject({}), output: z.any(),
  async run(_, ctx) {
    const dialog = { messages: [{ role: 'user', content: 'Hi' }] };
    return await told(ctx.llm('llm').options({ multiplexedModelId: 'a' }).chat(dialog));
  },
});
export const endpoint = definePlugin([models, single]);
`;

Models('name the model of a call and of a stream, and wrong names are refused', async () => {
  const plugin = join(folder, 'models');
  mkdirSync(join(plugin, 'src'), { recursive: true });
  const manifest = { name: 'models', version: '1.0.0', capabilities: ['deployments'], deployments: ['many', 'llm'] };
  await writeFile(join(plugin, 'plugin.json'), JSON.stringify(manifest));
  await writeFile(join(plugin, 'src/index.ts'), SOURCE);
  await buildTestPlugin(plugin);
  await using app = makeApp(folder, {}, keepingPlugins(folder));
  app.registerDeployment('many', ManyModelsDeployment.options());
  app.registerDeployment('llm', EchoTextGeneration.options());
  await started(app.registerPlugins(plugin));

  const ask = async (path: string, input: object): Promise<unknown> =>
    (await postJson(`${app.url}${path}`, input)).json();
  const others = { other: 'other', unnamed: 'ModelNotNamed' };
  for (const model of ['german', 'Ünïcode 😀', '__proto__', 'x'.repeat(256)])
    assert.equal(await ask('/models', { model }), { answer: model, words: [model, model, model], ...others });
  for (const [model, error] of [
    ['', 'ValidationError: deployment many: multiplexedModelId: '],
    ['x'.repeat(257), 'ValidationError: deployment many: multiplexedModelId: '],
    ['none', 'NoSuchModel: there is no model none'],
    [5, 'InvalidArguments: the argument $model is not a text'],
    [{ $audio: 0 }, 'InvalidArguments: '],
  ] as const) {
    const { answer, words, ...rest } = (await ask('/models', { model })) as { answer: string; words: string[] };
    assert.ok(answer.startsWith(error), answer);
    assert.equal([words, rest], [[error.split(':')[0]], others]);
  }
  assert.match(
    (await ask('/single', {})) as string,
    /^ValidationError: deployment llm: multiplexedModelId: .* is no class with many models/,
  );
});

Models.run();
