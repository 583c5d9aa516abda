// Real short-lived processes: stand-ins for `nvidia-smi` on the PATH and for the program that asks the addon.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLogger, type Logger, silentLogger } from '../core/logger.ts';
import { findMachine } from './find-machine.ts';
import { parseNvidiaSmi } from './nvidia-smi.ts';
import { type DriverGpu, visibleGpus } from './visible-gpus.ts';

const Devices = suite('finding devices');

const ADDON = new URL('./fixtures/list-devices.js', import.meta.url);
const TWO = '0, GPU-aaaa1111, 81559, NVIDIA H100 80GB HBM3\\n1, GPU-bbbb2222, 24576, NVIDIA A10, rev. 2\\n';
const MIB = 2 ** 20;
const folders: string[] = [];

/** An environment whose PATH has an `nvidia-smi` that runs `script`, or none. */
function environment(script: string | undefined, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const folder = mkdtempSync(join(tmpdir(), 'aana-devices-'));
  folders.push(folder);
  if (script !== undefined) {
    writeFileSync(join(folder, 'nvidia-smi'), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, 'nvidia-smi'), 0o755);
  }
  return { PATH: folder, ...more };
}

function warnings(): { log: Logger; messages: string[] } {
  const messages: string[] = [];
  return { log: createLogger({ level: 'warn', format: 'json', write: (line) => messages.push(String(JSON.parse(line).message)) }), messages };
}

Devices.after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

Devices('reads the driver’s list, names with commas and unknown memory too', () => {
  assert.equal(parseNvidiaSmi('0, GPU-a, 81559, NVIDIA H100, 80GB\n\nsome warning\n1, GPU-b, [N/A], NVIDIA GB10\n'), [
    { index: 0, uuid: 'GPU-a', id: 'GPU-a', name: 'NVIDIA H100, 80GB', memoryBytes: 81559 * MIB },
    { index: 1, uuid: 'GPU-b', id: 'GPU-b', name: 'NVIDIA GB10', memoryBytes: 0 },
  ]);
});

const ALL: readonly DriverGpu[] = ['GPU-aa11', 'GPU-ab22', 'GPU-cc33'].map((uuid, index) => ({ index, uuid, id: uuid, name: 'fake', memoryBytes: 1 }));
const VISIBLE: readonly (readonly [value: string | undefined, ids: readonly string[]])[] = [
  [undefined, ['GPU-aa11', 'GPU-ab22', 'GPU-cc33']],
  ['', []],
  ['-1', []],
  ['2,0', ['GPU-cc33', 'GPU-aa11']],
  [' 1 , 2 ', ['GPU-ab22', 'GPU-cc33']],
  ['0,7,1', ['GPU-aa11']],
  ['0,0', ['GPU-aa11']],
  ['GPU-cc,0', ['GPU-cc33', 'GPU-aa11']],
  ['GPU-a', []],
  ['GPU-ab22', ['GPU-ab22']],
  ['MIG-dd44,1', ['MIG-dd44', 'GPU-ab22']],
  ['all', []],
];
for (const [value, ids] of VISIBLE) {
  Devices(`understands CUDA_VISIBLE_DEVICES=${value ?? '(unset)'} as CUDA does`, () => {
    assert.equal(visibleGpus(ALL, value).map(({ id }) => id), ids);
  });
}

Devices('finds the GPUs of nvidia-smi that the environment leaves, by UUID', async () => {
  const env = environment(`printf '${TWO}'`, { LIST: 'gpu', CUDA_VISIBLE_DEVICES: '1' });
  const { gpus, memoryBytes } = await findMachine({ env, log: silentLogger, addonProgram: ADDON });
  assert.equal(gpus, [{ id: 'GPU-bbbb2222', name: 'NVIDIA A10, rev. 2', memoryBytes: 24576 * MIB }]);
  assert.ok(memoryBytes > 0);
});

Devices('finds no GPU, and says nothing, where there is neither a driver nor a GPU for the addon', async () => {
  const { log, messages } = warnings();
  assert.equal((await findMachine({ env: environment(undefined), log, addonProgram: ADDON })).gpus, []);
  assert.equal((await findMachine({ env: environment('exit 9'), log, addonProgram: ADDON })).gpus, []);
  assert.equal(messages, []);
});

Devices('takes the addon’s GPUs where there is no nvidia-smi', async () => {
  const { gpus } = await findMachine({ env: environment(undefined, { LIST: 'gpu' }), log: silentLogger, addonProgram: ADDON });
  assert.equal(gpus, [{ id: undefined, name: 'a GPU', memoryBytes: 4 }]);
});

Devices('uses no GPU that the addon cannot use, and warns', async () => {
  const { log, messages } = warnings();
  const { gpus } = await findMachine({ env: environment(`printf '${TWO}'`), log, addonProgram: ADDON });
  assert.equal([gpus, messages], [[], ['the native addon can use none of the GPUs of this machine; models run on the CPU']]);
});

for (const mode of ['crash', 'garbage', 'hang'] as const) {
  Devices(`trusts nvidia-smi when asking the addon ends in a ${mode}`, async () => {
    const { log, messages } = warnings();
    // A machine that needs longer than this to start Node would fail the other cases, not this one: all of them end the same way.
    const { gpus } = await findMachine({ env: environment(`printf '${TWO}'`, { LIST: mode }), log, addonProgram: ADDON, ...(mode === 'hang' && { timeoutMs: 1000 }) });
    assert.is(messages.includes('the native addon cannot be asked for GPUs'), true);
    if (mode !== 'hang') assert.is(gpus.length, 2);
  });
}

Devices('does not wait for an nvidia-smi that hangs', async () => {
  const { log, messages } = warnings();
  assert.equal((await findMachine({ env: environment('exec /bin/sleep 600'), log, addonProgram: ADDON, timeoutMs: 1000 })).gpus, []);
  assert.ok(messages.includes('nvidia-smi cannot be asked for GPUs'));
});

Devices('rejects with the reason of its signal', async () => {
  const controller = new AbortController();
  const reason = new Error('interrupted');
  const found = findMachine({ env: environment('exec /bin/sleep 600'), log: silentLogger, addonProgram: ADDON, signal: controller.signal }).catch((error: unknown) => error);
  controller.abort(reason);
  assert.is(await found, reason);
});

Devices('asks nobody when devices are declared, and lets the environment choose among them', async () => {
  const gpus = [{ memory_bytes: 5 }, { id: 'GPU-x', name: 'big', memory_bytes: 9 }];
  const env = environment('exec /bin/sleep 600', { CUDA_VISIBLE_DEVICES: 'GPU-x,0' });
  assert.equal(await findMachine({ env, log: silentLogger, declared: { gpus, memory_bytes: 7 } }), {
    gpus: [
      { id: 'GPU-x', name: 'big', memoryBytes: 9 },
      { id: '0', name: 'declared GPU', memoryBytes: 5 },
    ],
    memoryBytes: 7,
  });
  assert.equal((await findMachine({ env: {}, log: silentLogger, declared: { gpus: [] } })).gpus, []);
});

Devices('asks the addon of this package, when it is built, in a process of its own', async () => {
  const { log, messages } = warnings();
  const { gpus } = await findMachine({ env: environment(undefined), log });
  assert.ok(Array.isArray(gpus));
  assert.equal(messages, []);
});

Devices.run();
