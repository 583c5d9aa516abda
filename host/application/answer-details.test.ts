import { mkdirSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { EchoTextGeneration } from '../inference/deployments/fixtures/echo-text-generation.ts';
import { keepingPlugins, makeApp, makeFolder, postJson, started } from './fixtures/test-app.ts';
import { buildTestPlugin } from '../endpoints/plugins/fixtures/build-test-plugin.ts';

const Details = suite('the details of a language model’s answer');
const folder = makeFolder();
Details.after(() => rmSync(folder, { recursive: true, force: true }));

const SOURCE = `
import { defineEndpoint, definePlugin, z } from 'aana-host/plugin';

const details = defineEndpoint({
  name: 'details', path: '/details', summary: '', input: z.strictObject({ text: z.string() }), output: z.any(),
  async run({ text }, ctx) {
    const dialog = { messages: [{ role: 'user', content: text }] };
    const sampling_params = { max_tokens: 2 };
    const whole = await ctx.llm('llm').chat(dialog, { sampling_params, details: true });
    const stream = ctx.llm('llm').chatStream(dialog, { sampling_params });
    const before = stream.returned ?? null;
    const pieces = [];
    for await (const { text } of stream) pieces.push(text);
    const without = await ctx.llm('llm').chat(dialog);
    return { without, whole: whole.details, before, pieces, streamed: stream.returned };
  },
});
const forwarded = defineEndpoint({
  name: 'forwarded', path: '/forwarded', summary: '', input: z.strictObject({ text: z.string() }),
  output: z.any(), stream: true,
  run({ text }, ctx) {
    const stream = ctx.llm('llm').chatStream({ messages: [{ role: 'user', content: text }] },
      { sampling_params: { max_tokens: 1 } });
    ctx.forward(stream);
    ctx.write(stream.returned);
  },
});
export const endpoint = definePlugin([details, forwarded]);
`;

Details('reach a plugin with a whole answer and at the end of a stream', async () => {
  const plugin = join(folder, 'details');
  mkdirSync(join(plugin, 'src'), { recursive: true });
  const manifest = { name: 'details', version: '1.0.0', capabilities: ['deployments'], deployments: ['llm'] };
  await writeFile(join(plugin, 'plugin.json'), JSON.stringify(manifest));
  await writeFile(join(plugin, 'src/index.ts'), SOURCE);
  await buildTestPlugin(plugin);
  await using app = makeApp(folder, {}, keepingPlugins(folder));
  app.registerDeployment('llm', EchoTextGeneration.options());
  await started(app.registerPlugins(plugin));

  const prompt = '<|im_start|>user\na b c<|im_end|>\n<|im_start|>assistant\n';
  const details = (completion_tokens: number): object => ({
    finish_reason: 'length',
    usage: { prompt_tokens: 3, cached_tokens: 0, completion_tokens },
  });
  assert.equal(await (await postJson(`${app.url}/details`, { text: 'a b c' })).json(), {
    without: { message: { role: 'assistant', content: prompt } },
    whole: details(2),
    before: null,
    pieces: ['<|im_start|>user\na ', 'b '],
    streamed: details(2),
  });
  const answer = await postJson(`${app.url}/forwarded`, { text: 'a b c' });
  assert.is(await answer.text(), `{"text":"<|im_start|>user\\na "}${JSON.stringify(details(1))}`);
});

Details.run();
