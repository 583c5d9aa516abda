// The short form of `npm run campaign:speech`.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { skip } from '../../skip.ts';
import { soakSpeech } from './soak.ts';

const REQUESTS = 30;
const Soak = suite('transcriptions and live streams that callers leave at random moments');

Soak('end, leave the replica as it was, and leave no memory behind', async () => {
  const { answered, left, problems, residentBytes } = await soakSpeech(REQUESTS, 1);
  assert.equal(problems, []);
  assert.is(answered + left, REQUESTS);
  assert.ok(answered > 3 && left > 3, `${answered} were answered, ${left} were left`);
  // Memory of windows is given back while there are none, and grows until six requests have met, so the first half of
  // the requests is the warm-up. A request of the other half that kept 4 MB would be seen.
  const [warm, last = 0] = [Math.max(...residentBytes.slice(0, 5)), residentBytes.at(-1)];
  assert.ok(last - warm < 60e6, `${residentBytes}`);
});

if (cannotRun === undefined && process.platform === 'linux') Soak.run();
else skip('transcriptions and live streams that callers leave', cannotRun ?? 'it needs /proc');
