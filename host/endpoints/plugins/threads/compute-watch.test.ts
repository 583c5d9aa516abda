import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { skip } from '../../../test/skip.ts';
import { ComputeWatch, threadCpuMs, watchIntervalMs } from './compute-watch.ts';
import { cell, newControl } from '../invocation/protocol.ts';

/**
 * Returns a watch over a guest in slot 4 that occupies its thread, with a limit of 1 s. `looks` returns which of the
 * next looks found the guest.
 */
function watched(
  cpuPerLookMs: number | undefined,
  measure: 'stop' | 'end' = 'end',
  isInterruptible = false,
): { control: Int32Array; looks(count: number): number[] } {
  const control = new Int32Array(newControl().buffer);
  Atomics.store(control, cell.running, 5);
  let looked = 0;
  const watch = new ComputeWatch(control, { cpuSliceMs: 1000, isInterruptible }, () =>
    cpuPerLookMs === undefined ? undefined : 5000 + looked * cpuPerLookMs,
  );
  return {
    control,
    looks: (count) => {
      const found: number[] = [];
      for (let n = 1; n <= count; n++, looked++) {
        const overdue = watch.look();
        if (overdue?.slot === 4 && overdue.entry === Atomics.load(control, cell.entries) && overdue.measure === measure)
          found.push(n);
      }
      return found;
    },
  };
}

const Watch = suite('the watch over guests that compute');

Watch('finds one that had the processor for as long as it may', () => {
  assert.is(watched(watchIntervalMs).looks(30)[0], 10);
});

Watch('lets one go on that waits for a processor, until it has computed as long', () => {
  assert.is(watched(watchIntervalMs / 10).looks(150)[0], 91);
});

Watch('counts looks alone where nobody knows what a thread computes', () => {
  assert.is(watched(undefined).looks(30)[0], 10);
});

Watch('does not wait for ever', () => {
  assert.is(watched(0).looks(400)[0], 300);
});

Watch('tells a guest that listens to stop, and ends the thread of one that does not', () => {
  assert.equal(watched(watchIntervalMs, 'stop', true).looks(30), [10, 11, 12, 13, 14]);
  assert.is(watched(watchIntervalMs, 'end', true).looks(30)[0], 15);
});

Watch('begins anew whenever guest code is entered, and sees nobody while none is', () => {
  const { control, looks } = watched(watchIntervalMs);
  for (let n = 0; n < 10; n++) {
    assert.equal(looks(9), []);
    Atomics.add(control, cell.entries, 2);
  }
  Atomics.store(control, cell.running, 0);
  assert.equal(looks(30), []);
});

const code = `const { readlinkSync } = require('node:fs');
require('node:worker_threads').parentPort.postMessage(readlinkSync('/proc/thread-self'));
setTimeout(() => { for (;;); }, 10);`;
if (process.platform === 'linux') {
  Watch('is told by Linux what a thread computes, also while it does', async () => {
    const worker = new Worker(code, { eval: true });
    const [thread] = (await once(worker, 'message')) as [string];
    const first = threadCpuMs(thread);
    if (first === undefined) skip('computing time of threads', 'this kernel does not count it');
    else while ((threadCpuMs(thread) ?? 0) < first + 30) await new Promise((resolve) => setImmediate(resolve));
    await worker.terminate();
    assert.is(threadCpuMs(thread), undefined);
    assert.is(threadCpuMs(undefined), undefined);
  });
}

Watch.run();
