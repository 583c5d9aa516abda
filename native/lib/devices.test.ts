import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addonPath } from './fixtures/test-engine.ts';
import type { NativeDriverGpu } from './binding/index.ts';

const Devices = suite('the addon’s list of GPUs');
const folder = mkdtempSync(join(tmpdir(), 'aana-driver-'));
Devices.after(() => rmSync(folder, { recursive: true }));

const canRun = existsSync(addonPath) && process.platform === 'linux';
const test = canRun ? Devices : Devices.skip;

/** Returns the GPUs that a process finds with the fake NVIDIA driver. */
function driverGpus(gpus: string): NativeDriverGpu[] {
  const program = `import { loadNative } from ${JSON.stringify(new URL('load.js', import.meta.url).href)};
    process.stdout.write(JSON.stringify(loadNative({ addonPath: ${JSON.stringify(addonPath)} }).driverGpus()));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    env: { ...process.env, LD_LIBRARY_PATH: folder, FAKE_GPUS: gpus },
    encoding: 'utf8',
  });
  return JSON.parse(output) as NativeDriverGpu[];
}

Devices.before(() => {
  if (!canRun) return;
  const source = fileURLToPath(new URL('../../../native/lib/fixtures/cuda-driver.c', import.meta.url));
  execFileSync('cc', ['-shared', '-fPIC', '-o', join(folder, 'libcuda.so.1'), source]);
});

test('has GPUs and partitions with their UUIDs for CUDA_VISIBLE_DEVICES', () => {
  assert.equal(driverGpus('gm'), [
    { uuid: 'GPU-00010203-0405-0607-0809-0a0b0c0d0e0f', name: 'fake 0', memoryTotalBytes: 1000 },
    { uuid: 'MIG-11f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff', name: 'fake 1', memoryTotalBytes: 2000 },
  ]);
});

test('is empty if the driver finds no GPU or fails', () => {
  assert.equal(driverGpus(''), []);
  assert.equal(driverGpus('gx'), []); // a list with a gap would assign names to the wrong GPUs
});

Devices.run();
