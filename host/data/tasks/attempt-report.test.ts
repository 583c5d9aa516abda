import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AttemptBatch } from '../storage/index.ts';
import { AttemptReport } from './attempt-report.ts';

const Report = suite('the report of an attempt');

function reported(): { readonly report: AttemptReport; readonly batches: AttemptBatch[] } {
  const batches: AttemptBatch[] = [];
  const write = async (batch: AttemptBatch): Promise<void> => void batches.push(batch);
  return { report: new AttemptReport({ write, onFailure: () => assert.unreachable() }), batches };
}

Report('writes the last progress once, in tenths of a percent', async () => {
  const { report, batches } = reported();
  for (const fraction of [0, 0.2, 0.33333, Number.NaN, 0.33334]) report.progress(fraction);
  await report.flush();
  report.progress(0.3333);
  await report.flush();
  assert.equal(batches, [{ number: 1, chunks: [], progress: 33.3 }]);
});

Report('does not let progress that waits delay values', async () => {
  const { report, batches } = reported();
  report.progress(0.5);
  await report.add('1');
  while (batches.length === 0) await new Promise(setImmediate);
  assert.equal(batches, [{ number: 1, chunks: ['1'], progress: 50 }]);
  report.drop();
});

Report.run();
