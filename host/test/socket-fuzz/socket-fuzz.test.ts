import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fuzzSockets } from './fuzz-sockets.ts';

const Fuzz = suite('random sequences on raw sockets');

Fuzz('get answers that belong to their requests, in order, and none is lost', async () => {
  const { complaints } = await fuzzSockets({ sequences: 300, seed: 1 });
  assert.equal(complaints, []);
});

Fuzz.run();
