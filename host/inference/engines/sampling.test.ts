import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../base/core/errors.ts';
import { mergeSampling } from './sampling.ts';

const Sampling = suite('merging sampling parameters');

Sampling('gives greedy sampling and 256 tokens when nothing is set', () => {
  assert.equal(mergeSampling({}, { seed: 1 }), {
    temperature: 0,
    topK: -1,
    topP: 1,
    minP: 0,
    typicalP: 1,
    repetitionPenalty: 1,
    presencePenalty: 0,
    frequencyPenalty: 0,
    logitBias: [],
    badWords: [],
    seed: 1,
    maxTokens: 256,
    minTokens: 0,
    ignoreEos: false,
    stop: [],
    stopTokenIds: [],
    reproducible: false,
  });
});

Sampling('gives each answer a random seed when no seed is set', () => {
  const seeds = new Set(Array.from({ length: 20 }, () => mergeSampling({}, undefined).seed));
  assert.ok(seeds.size > 15, `${[...seeds]}`);
  assert.ok([...seeds].every((seed) => Number.isInteger(seed) && seed >= 0 && seed < 2 ** 32));
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

Sampling('has groups of parameters only when they are on, with their defaults', () => {
  const off = mergeSampling({ dry_base: 2, xtc_threshold: 0.2, mirostat_tau: 3 }, undefined);
  assert.equal([off.dry, off.xtc, off.mirostat], [undefined, undefined, undefined]);
  const on = mergeSampling(
    { dry_base: 2, xtc_threshold: 0.2 },
    { dry_multiplier: 0.8, dry_sequence_breakers: ['#'], xtc_probability: 0.5, mirostat: 2 },
  );
  assert.equal(on.dry, { multiplier: 0.8, base: 2, allowedLength: 2, lastTokens: -1, sequenceBreakers: ['#'] });
  assert.equal(
    [on.xtc, on.mirostat],
    [
      { probability: 0.5, threshold: 0.2 },
      { version: 2, tau: 5, eta: 0.1 },
    ],
  );
});

Sampling('has tokens as numbers', () => {
  assert.equal(mergeSampling({}, { logit_bias: { '7': -100, '12': 1.5 } }).logitBias, [
    { token: 7, bias: -100 },
    { token: 12, bias: 1.5 },
  ]);
});

Sampling('refuses an answer that must be longer than it may be', () => {
  try {
    mergeSampling({ max_tokens: 10 }, { min_tokens: 11 });
    assert.unreachable();
  } catch (error) {
    assert.ok(error instanceof AanaError);
    assert.equal([error.name, error.kind], ['InvalidSamplingParams', 'bad-request']);
    assert.match(error.message, 'sampling_params.min_tokens: it is 11, which is more than max_tokens, 10');
  }
});

Sampling.run();
