import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { bestGguf, bestProjector, ggufModels } from './gguf-choice.ts';

const Choice = suite('choosing a GGUF model');

for (const [files, chosen] of [
  [['README.md', 'm-Q8_0.gguf', 'm-Q4_K_M.gguf', 'm-f16.gguf'], 'm-Q4_K_M.gguf'],
  [['m.f16.gguf', 'm.q8_0.gguf'], 'm.q8_0.gguf'],
  [['m-q4_k_m-00001-of-00002.gguf', 'm-q2_k.gguf'], 'm-q2_k.gguf'],
  [['m-q4_k_m-00002-of-00002.gguf', 'm-q4_k_m-00001-of-00002.gguf', 'm-q2_k.gguf'], 'm-q4_k_m-00001-of-00002.gguf'],
  [['m-q8_0-00001-of-00002.gguf', 'm-q8_0-00002-of-00002.gguf', 'm-q8_0.gguf'], 'm-q8_0.gguf'],
  [['q/m-q6_k-00001-of-00001.gguf'], 'q/m-q6_k-00001-of-00001.gguf'],
  [['m-00000-of-00002.gguf'], 'm-00000-of-00002.gguf'],
  [['mmproj-model-f16.gguf', 'sub/model-f16.gguf'], 'sub/model-f16.gguf'],
  [['model.safetensors'], undefined],
] as const) {
  Choice(`chooses ${chosen ?? 'none'} of ${files.join(', ')}`, () =>
    assert.is(bestGguf(ggufModels(files).whole), chosen),
  );
}

for (const [files, chosen] of [
  [['m-Q8_0.gguf', 'mmproj-m-Q8_0.gguf', 'mmproj-m-f16.gguf'], 'mmproj-m-f16.gguf'],
  [['mmproj-BF16.gguf', 'mmproj-F32.gguf'], 'mmproj-BF16.gguf'],
  [['vision/m.mmproj-Q4_0.gguf', 'm.gguf'], 'vision/m.mmproj-Q4_0.gguf'],
  [['mmproj/m-f16.gguf', 'mmproj-f16.safetensors'], undefined],
] as const) {
  Choice(`chooses the projector ${chosen ?? 'none'} of ${files.join(', ')}`, () =>
    assert.is(bestProjector(files), chosen),
  );
}

Choice('names the parts that a split model lacks', () => {
  const { whole, missing } = ggufModels(['m-00001-of-00003.gguf', 'm-00003-of-00003.gguf']);
  assert.equal(whole, []);
  assert.equal(missing, ['m-00002-of-00003.gguf']);
});

Choice.run();
