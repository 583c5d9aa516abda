import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { placementText } from './placement-environment.ts';

const Text = suite('where a replica runs, for people');
const machine = { gpus: [0, 1, 2].map((n) => ({ id: `GPU-${n}`, name: 'declared GPU', memoryBytes: 80e9 })), memoryBytes: 64e9 };

for (const [placement, text, on] of [
  [{ gpus: [1], unbound: false }, 'GPU 1', machine],
  [{ gpus: [0, 2], unbound: false }, 'GPU 0, 2', machine],
  [{ gpus: [], unbound: false }, 'CPU', machine],
  [{ gpus: [], unbound: true }, 'any GPU', machine],
  [{ gpus: [], unbound: true }, 'CPU', { gpus: [], memoryBytes: 64e9 }],
] as const) {
  Text(`is ${text} for ${JSON.stringify(placement)} on a machine with ${on.gpus.length} GPUs`, () => {
    assert.is(placementText(on, { deployment: 'a', ...placement }), text);
  });
}

Text.run();
