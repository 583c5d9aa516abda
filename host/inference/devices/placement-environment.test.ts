import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { placementText } from './placement-environment.ts';

const Text = suite('where a replica runs, for people');

for (const [gpus, text] of [
  [[1], 'GPU 1'],
  [[0, 2], 'GPU 0, 2'],
  [[], 'CPU'],
] as const) {
  Text(`is ${text} for ${JSON.stringify(gpus)}`, () => {
    assert.is(placementText({ deployment: 'a', gpus }), text);
  });
}

Text.run();
