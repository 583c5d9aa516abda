// The short form of `npm run campaign:speech`.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { skip } from '../../skip.ts';
import { soakSpeech } from './soak.ts';

const REQUESTS = 20;
const Soak = suite('transcriptions and live streams that callers leave at random moments');

Soak('end, leave the replica as it was, and leave no memory behind', async () => {
  const { answered, left, problems, residentBytes } = await soakSpeech(REQUESTS, 1);
  assert.equal(problems, []);
  assert.is(answered + left, REQUESTS);
  assert.ok(answered > 3 && left > 3, `${answered} were answered, ${left} were left`);
  // A request that kept 4 MB would be seen.
  const [warm = 0, last = 0] = [residentBytes[0], residentBytes.at(-1)];
  assert.ok(last - warm < 60e6, `${residentBytes}`);
});

if (cannotRun === undefined && process.platform === 'linux') Soak.run();
else skip('transcriptions and live streams that callers leave', cannotRun ?? 'it needs /proc');
