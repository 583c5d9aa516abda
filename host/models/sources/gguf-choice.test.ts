import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chooseGguf } from './gguf-choice.ts';

const Choice = suite('chooseGguf');

for (const [files, chosen] of [
  [['README.md', 'm-Q8_0.gguf', 'm-Q4_K_M.gguf', 'm-f16.gguf'], 'm-Q4_K_M.gguf'],
  [['m.f16.gguf', 'm.q8_0.gguf'], 'm.q8_0.gguf'],
  [['m-q4_k_m-00001-of-00002.gguf', 'm-q2_k.gguf'], 'm-q2_k.gguf'],
  [['mmproj-model-f16.gguf', 'sub/model-f16.gguf'], 'sub/model-f16.gguf'],
  [['model.safetensors'], undefined],
] as const) {
  Choice(`chooses ${chosen ?? 'none'} of ${files.join(', ')}`, () => assert.is(chooseGguf(files), chosen));
}

Choice.run();
