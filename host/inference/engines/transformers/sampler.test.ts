import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { NoToken, Sampler, type Sampling } from './sampler.ts';

const Sample = suite('choosing tokens');

const GREEDY: Sampling = {
  ...{ temperature: 0, topK: -1, topP: 1, minP: 0, seed: 1, logitBias: [], never: [], notBefore: [], minTokens: 0 },
  ...{ repetitionPenalty: 1, presencePenalty: 0, frequencyPenalty: 0 },
};
/** Probabilities 0.5, 0.25, 0.15, 0.1. */
const LOGITS = [0.5, 0.25, 0.15, 0.1].map(Math.log);

const chosen = (sampling: Partial<Sampling>, prompt: readonly number[] = [], logits = LOGITS) => {
  const sampler = new Sampler({ ...GREEDY, ...sampling }, prompt);
  return () => sampler.choose(Float32Array.from(logits));
};

/** Returns how often each token is drawn. */
function shares(sampling: Partial<Sampling>, draws = 4000): number[] {
  const next = chosen({ temperature: 1, ...sampling });
  const counts = LOGITS.map(() => 0);
  for (let draw = 0; draw < draws; draw += 1) counts[next()]! += 1;
  return counts.map((count) => count / draws);
}

function isClose(actual: readonly number[], expected: readonly number[]): void {
  for (const [at, share] of actual.entries())
    assert.ok(Math.abs(share - (expected[at] ?? NaN)) < 0.03, `${actual} is not ${expected}`);
}

Sample('takes the likeliest token, and the first of those that are as likely', () => {
  assert.is(chosen({})(), 0);
  assert.is(chosen({}, [], [1, 3, 3, 2])(), 1);
});

Sample('draws tokens as often as they are likely, at each temperature', () => {
  isClose(shares({}), [0.5, 0.25, 0.15, 0.1]);
  for (const temperature of [0.5, 2]) {
    const weights = LOGITS.map((logit) => Math.exp(logit / temperature));
    const sum = weights.reduce((total, weight) => total + weight, 0);
    isClose(
      shares({ temperature }),
      weights.map((weight) => weight / sum),
    );
  }
  isClose(shares({ temperature: 1e-6 }), [1, 0, 0, 0]);
});

Sample('keeps the tokens that top_k, top_p and min_p name, and none beside them', () => {
  isClose(shares({ topK: 2 }), [2 / 3, 1 / 3, 0, 0]);
  isClose(shares({ topP: 0.74 }), [2 / 3, 1 / 3, 0, 0]);
  isClose(shares({ topP: 1e-7 }), [1, 0, 0, 0]);
  isClose(shares({ minP: 0.29 }), [0.5 / 0.9, 0.25 / 0.9, 0.15 / 0.9, 0]);
  isClose(shares({ minP: 1 }), [1, 0, 0, 0]);
  isClose(shares({ topK: 3, topP: 0.8, minP: 0.4 }), [2 / 3, 1 / 3, 0, 0]);
});

Sample('draws the same tokens with the same seed, and others with another', () => {
  const drawn = (seed: number): string => {
    const next = chosen({ temperature: 1, seed });
    return Array.from({ length: 40 }, next).join('');
  };
  const seeds = [0, 1, 2, 2 ** 32 - 1];
  assert.is(new Set(seeds.map(drawn)).size, seeds.length);
  for (const seed of seeds) assert.is(drawn(seed), drawn(seed));
});

Sample('makes tokens of the answer less likely, and with repetition_penalty those of the prompt', () => {
  const four = (sampling: Partial<Sampling>, prompt?: readonly number[], logits?: number[]): number[] =>
    Array.from({ length: 4 }, chosen(sampling, prompt, logits));
  assert.equal(four({ presencePenalty: 1 }, [0, 1, 2, 3]), [0, 1, 0, 0]);
  assert.equal(four({ frequencyPenalty: 0.8 }), [0, 1, 0, 2]);
  assert.equal(four({ repetitionPenalty: 2 }, [0], [2, 1.5, 1, -1]), [1, 0, 0, 0]);
  assert.equal(four({ repetitionPenalty: 2 }, [2], [-3, -2.5, -2, -9]), [1, 0, 2, 2]);
});

Sample('adds biases, and keeps tokens from an answer or from its beginning', () => {
  assert.is(chosen({ logitBias: [{ token: 3, bias: 100 }] })(), 3);
  assert.is(chosen({ logitBias: [{ token: 0, bias: -100 }] })(), 1);
  assert.is(chosen({ never: [0, 1] })(), 2);
  assert.equal(Array.from({ length: 4 }, chosen({ notBefore: [0], minTokens: 2 })), [1, 1, 0, 0]);
  isClose(shares({ never: [0, 1, 2] }), [0, 0, 0, 1]);
});

Sample('fails where no number can be compared', () => {
  for (const logits of [[NaN, 1], [1, NaN], [NaN], [Infinity, 1], [-Infinity, -Infinity]])
    for (const temperature of [0, 1])
      assert.throws(chosen({ temperature }, [], logits), (error: Error) => error instanceof NoToken);
});

Sample.run();
