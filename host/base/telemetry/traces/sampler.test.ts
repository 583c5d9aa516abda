import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { samplerOf } from './sampler.ts';

const Sampler = suite('the sampler of a part of the traces');

const START = '4bf92f3577b34da6a3';

// The thresholds are (1 - ratio) * 2^56.
for (const [ratio, last, first] of [
  [0.5, '7fffffffffffff', '80000000000000'],
  [0.01, 'fd70a3d70a3d6f', 'fd70a3d70a3d70'],
  [0.75, '3fffffffffffff', '40000000000000'],
] as const)
  Sampler(`takes ${ratio} of all traces, from the threshold on`, () => {
    const sampler = samplerOf('traceidratio', ratio);
    assert.equal([sampler(START + last, undefined), sampler(START + first, undefined)], [false, true]);
  });

Sampler('takes none for 0 and all for 1', () => {
  for (const [ratio, isTaken] of [
    [0, false],
    [1, true],
  ] as const)
    for (const digits of ['00000000000000', 'ffffffffffffff'])
      assert.is(samplerOf('traceidratio', ratio)(START + digits, undefined), isTaken, `${ratio} ${digits}`);
});

Sampler.run();
