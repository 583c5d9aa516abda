// How a model is loaded: layers that fit, attention, mapping, types of keys and values.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endOf, isBuilt, rejection, TestEngine } from './fixtures/test-engine.ts';
import type { LlamaLoadOptions } from './index.ts';

const Loading = suite('loading a language model');
const prompt = 'Once upon a time there was a little girl';

async function textWith(changes: Partial<LlamaLoadOptions>): Promise<string> {
  await using llama = await TestEngine.load(changes);
  const generation = await llama.generate(prompt, { maxTokens: 12, temperature: 0 });
  assert.is(endOf(generation).completionTokens, 12);
  return generation.text;
}

for (const changes of [
  { gpuLayers: 'auto' },
  { mapsFile: false },
  { locksMemory: true },
  { mapsFile: false, locksMemory: true },
  { flashAttention: 'on' },
] as const) {
  Loading(`the text is the same with ${JSON.stringify(changes)}`, async () => {
    assert.is(await textWith(changes), await textWith({}));
  });
}

Loading('the model computes without flash attention, and with numbers of 16 bits of another kind', async () => {
  assert.ok((await textWith({ flashAttention: 'off' })).length > 0);
  assert.ok((await textWith({ keyType: 'bf16', valueType: 'bf16' })).length > 0);
});

Loading('values of few bits are refused without flash attention, which they need', async () => {
  const { message } = await rejection(TestEngine.load({ valueType: 'q4_0', flashAttention: 'off' }));
  assert.match(message, /values in q4_0 need flash attention, which is off/);
});

Loading('parts of GPUs are refused where the engine chooses them', async () => {
  const { message } = await rejection(TestEngine.load({ gpuLayers: 'auto', tensorSplit: [1, 2] }));
  assert.match(message, /tensorSplit/);
});

if (isBuilt) Loading.run();
else process.stdout.write('SKIP loading a language model: the native addon is not built\n');
