import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { NativeDevice } from '../../../native/lib/index.ts';
import { GpuMemoryWatch } from './gpu-memory.ts';

const Watch = suite('the watch over the memory of GPUs');

const device = (name: string, memoryFreeBytes: number, type: NativeDevice['type'] = 'gpu'): NativeDevice => ({
  name,
  description: name,
  type,
  memoryFreeBytes,
  memoryTotalBytes: 100,
});
let list: NativeDevice[] = [];
const native = { devices: () => list };

Watch.before.each(() => {
  list = [device('CPU', 50, 'cpu'), device('CUDA0', 90), device('CUDA1', 80)];
});
Watch.after.each(() => {
  delete process.env['AANA_GPU_DEVICES'];
});

Watch('reports the memory of each GPU that was taken since the watch began, and the free memory', () => {
  const watch = new GpuMemoryWatch(native, true);
  list = [device('CPU', 40, 'cpu'), device('CUDA0', 60), device('CUDA1', 85)];
  assert.equal(watch.read(), [
    { usedBytes: 30, freeBytes: 60 },
    { usedBytes: 0, freeBytes: 85 },
  ]);
});

Watch('reports the GPUs that the process was given, in their order', () => {
  process.env['AANA_GPU_DEVICES'] = 'CUDA1,CUDA0';
  assert.equal(
    new GpuMemoryWatch(native, true).read().map(({ freeBytes }) => freeBytes),
    [80, 90],
  );
});

Watch('reports no GPU if the model is on the CPU', () => {
  assert.equal(new GpuMemoryWatch(native, false).read(), []);
});

Watch.run();
