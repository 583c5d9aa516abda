// A short run of the campaign in fixtures/llama-fuzz.ts.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fuzzLlama } from './fixtures/llama-fuzz.ts';
import { isBuilt } from './fixtures/test-engine.ts';

const REQUESTS = 300;
const Fuzz = suite('random requests to the llama engine');

if (isBuilt) {
  Fuzz('none is lost, ends twice or waits for ever', async () => {
    const report = await fuzzLlama(REQUESTS, 3);
    assert.is(
      Object.values(report.ends).reduce((sum, count) => sum + count, 0),
      REQUESTS,
    );
    assert.ok(report.preemptions > 0 && report.reusedTokens > 0, JSON.stringify(report));
    assert.ok(report.differentTexts <= 0.1 * report.comparedTexts, JSON.stringify(report));
  });
} else {
  process.stdout.write('SKIP random requests to the llama engine: the native addon is not built\n');
}

Fuzz.run();
