// A short run of `npm run fuzz:llm:cancel`.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cancelAtRandom } from './fixtures/llama-cancellations.ts';
import { isBuilt } from './fixtures/test-engine.ts';

const Cancellations = suite('requests that are cancelled at random moments');

if (isBuilt)
  Cancellations('end once each, and leave no memory behind', async () => {
    const { ends, residentBytes } = await cancelAtRandom(1500, 1);
    assert.is(
      Object.values(ends).reduce((sum, count) => sum + count, 0),
      1500,
    );
    assert.ok((ends['cancelled'] ?? 0) > 500 && (ends['length'] ?? 0) > 50, JSON.stringify(ends));
    // The heap of JavaScript grows, too, at first. What a request leaves behind would be a multiple of this.
    const [warm = 0, last = 0] = [residentBytes[4], residentBytes.at(-1)];
    assert.ok(last - warm < 24e6, `${residentBytes}`);
  });
else process.stdout.write('SKIP requests that are cancelled at random moments: the native addon is not built\n');

Cancellations.run();
