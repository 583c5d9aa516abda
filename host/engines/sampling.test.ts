import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { mergeSampling } from './sampling.ts';

const Sampling = suite('merging sampling parameters');

Sampling('gives greedy sampling and 256 tokens when nothing is set', () => {
  assert.equal(mergeSampling({}, undefined), {
    temperature: 0,
    topK: -1,
    topP: 1,
    minP: 0,
    repetitionPenalty: 1,
    seed: 42,
    maxTokens: 256,
    stop: [],
  });
});

Sampling("takes the deployment's parameters unless the request sets its own", () => {
  const merged = mergeSampling({ temperature: 0.7, max_tokens: 100, stop: ['\n'] }, { max_tokens: 5 });
  assert.equal([merged.temperature, merged.maxTokens, merged.stop], [0.7, 5, ['\n']]);
});

Sampling('accepts 0 and an empty list from a request', () => {
  const merged = mergeSampling({ temperature: 0.7, seed: 7, stop: ['\n'] }, { temperature: 0, seed: 0, stop: [] });
  assert.equal([merged.temperature, merged.seed, merged.stop], [0, 0, []]);
});

Sampling('treats null as not set, in the deployment and in the request', () => {
  const merged = mergeSampling({ temperature: null, top_k: 40 }, { top_k: null, top_p: null });
  assert.equal([merged.temperature, merged.topK, merged.topP], [0, 40, 1]);
});

Sampling.run();
