// Real short-lived processes replace `nvidia-smi` on the PATH and the program that lists the addon's devices.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLogger, type Logger, silentLogger } from '../../base/core/log/logger.ts';
import { allowedProcessors, usableCores, usableCpus } from '../../base/core/machine/processors.ts';
import { findMachine } from './find-machine.ts';
import { parseNvidiaSmi, parseParts } from './nvidia-smi.ts';
import { type DriverGpu, visibleGpus } from './visible-gpus.ts';

const Devices = suite('finding devices');

const ADDON = new URL('./fixtures/list-devices.js', import.meta.url);
const TWO = '0, GPU-aaaa1111, 81559, NVIDIA H100 80GB HBM3\\n1, GPU-bbbb2222, 24576, NVIDIA A10, rev. 2\\n';
const MIB = 2 ** 20;
const folders: string[] = [];

/** Returns an environment whose PATH has an `nvidia-smi` that runs `script`, or none. */
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
  return {
    log: createLogger({
      level: 'warn',
      format: 'json',
      write: (line) => messages.push(String(JSON.parse(line).message)),
    }),
    messages,
  };
}

Devices.after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

Devices('reads the driver’s list, including names with commas and unknown memory', () => {
  assert.equal(parseNvidiaSmi('0, GPU-a, 81559, NVIDIA H100, 80GB\n\nsome warning\n1, GPU-b, [N/A], NVIDIA GB10\n'), [
    { index: 0, uuid: 'GPU-a', id: 'GPU-a', name: 'NVIDIA H100, 80GB', memoryBytes: 81559 * MIB },
    { index: 1, uuid: 'GPU-b', id: 'GPU-b', name: 'NVIDIA GB10', memoryBytes: 0 },
  ]);
});

const ALL: readonly DriverGpu[] = ['GPU-aa11', 'GPU-ab22', 'GPU-cc33'].map((uuid, index) => ({
  index,
  uuid,
  id: uuid,
  name: 'fake',
  memoryBytes: 1,
}));
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
    assert.equal(
      visibleGpus(ALL, value).map(({ id }) => id),
      ids,
    );
  });
}

Devices('finds the GPUs of nvidia-smi that the environment selects, by UUID', async () => {
  const env = environment(`printf '${TWO}'`, { LIST: 'gpu', CUDA_VISIBLE_DEVICES: '1' });
  const { gpus, memoryBytes } = await findMachine({ env, log: silentLogger, addonProgram: ADDON });
  assert.equal(gpus, [{ id: 'GPU-bbbb2222', name: 'NVIDIA A10, rev. 2', memoryBytes: 24576 * MIB }]);
  assert.ok(memoryBytes > 0);
});

Devices('finds no GPU and logs nothing when there is neither a driver nor a GPU for the addon', async () => {
  const { log, messages } = warnings();
  assert.equal((await findMachine({ env: environment(undefined), log, addonProgram: ADDON })).gpus, []);
  assert.equal((await findMachine({ env: environment('exit 9'), log, addonProgram: ADDON })).gpus, []);
  assert.equal(messages, []);
});

Devices('uses the addon’s GPUs when there is no nvidia-smi', async () => {
  const { gpus } = await findMachine({
    env: environment(undefined, { LIST: 'gpu' }),
    log: silentLogger,
    addonProgram: ADDON,
  });
  assert.equal(gpus, [{ id: undefined, device: 'MTL0', name: 'a GPU', memoryBytes: 4 }]);
});

Devices('identifies CUDA’s GPUs by UUID without nvidia-smi if the driver reports UUIDs', async () => {
  const { gpus } = await findMachine({
    env: environment(undefined, { LIST: 'cuda' }),
    log: silentLogger,
    addonProgram: ADDON,
  });
  assert.equal(gpus, [
    { id: 'GPU-1', name: 'a GPU', memoryBytes: 4 },
    { id: 'MIG-2', name: 'a GPU', memoryBytes: 4, isPart: true },
  ]);
});

Devices('identifies CUDA’s GPUs by index when their UUIDs are unknown', async () => {
  const find = async (visible?: string): Promise<unknown> => {
    const env = environment(undefined, {
      LIST: 'cuda-only',
      ...(visible !== undefined && { CUDA_VISIBLE_DEVICES: visible }),
    });
    return (await findMachine({ env, log: silentLogger, addonProgram: ADDON })).gpus.map(({ id }) => id);
  };
  assert.equal(await find(), ['0', '1']);
  assert.equal(await find('3, GPU-x'), ['3', 'GPU-x']);
});

const CUT =
  'GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-aaaa1111)\\n  MIG 3g.40gb     Device  0: (UUID: MIG-p1)\\n  MIG ' +
  '1g.10gb+me  Device  1: (UUID: MIG-p2)\\nGPU 1: NVIDIA A10 (UUID: GPU-bbbb2222)\\n';
const PARTS = [
  { id: 'MIG-p1', name: 'NVIDIA H100 80GB HBM3 3g.40gb', memoryBytes: 40e9, isPart: true },
  { id: 'MIG-p2', name: 'NVIDIA H100 80GB HBM3 1g.10gb+me', memoryBytes: 10e9, isPart: true },
];
const A10 = { id: 'GPU-bbbb2222', name: 'NVIDIA A10, rev. 2', memoryBytes: 24576 * MIB };
const SMI =
  `case "$1" in -L) printf '${CUT}';; *uuid,memory.free*) printf 'GPU-aaaa1111, 1000\\nGPU-bbbb2222, ` +
  `2000\\n[N/A], [N/A]\\n';; *) printf '${TWO}';; esac`;

Devices('finds the parts of a divided GPU instead of the whole', async () => {
  const find = async (visible?: string): Promise<unknown> => {
    const env = environment(SMI, { LIST: 'gpu', ...(visible !== undefined && { CUDA_VISIBLE_DEVICES: visible }) });
    return (await findMachine({ env, log: silentLogger, addonProgram: ADDON })).gpus;
  };
  assert.equal(await find(), [...PARTS, A10]);
  assert.equal(await find('1,MIG-p2'), [A10, PARTS[1]]);
  assert.equal(await find('0'), [PARTS[0]]);
  assert.is(parseParts('no list\n  MIG 1g.5gb Device 0: (UUID: MIG-x)').size, 0);
});

Devices('queries how much of each GPU all processes leave free', async () => {
  const { probe } = await findMachine({
    env: environment(SMI, { LIST: 'gpu' }),
    log: silentLogger,
    addonProgram: ADDON,
  });
  assert.equal(await probe?.freeGpuBytes?.(undefined), [undefined, undefined, 2000 * MIB]);
  const { probe: ofAddon } = await findMachine({
    env: environment(undefined, { LIST: 'cuda' }),
    log: silentLogger,
    addonProgram: ADDON,
  });
  assert.equal(await ofAddon?.freeGpuBytes?.(undefined), [3, 3]);
});

Devices('uses no GPU for which the addon has no backend, and warns', async () => {
  const { log, messages } = warnings();
  const { gpus, problems } = await findMachine({ env: environment(`printf '${TWO}'`), log, addonProgram: ADDON });
  assert.equal([gpus, messages], [[], ['GPUs cannot be used']]);
  assert.match(problems?.[0]?.found ?? '', /has no backend for .* \(NVIDIA H100 80GB HBM3, NVIDIA A10, rev\. 2\)$/);
  assert.match(problems?.[0]?.advice ?? '', 'aana-host build-native');
});

Devices('names GPUs of Vulkan as the engines do, also beside NVIDIA’s driver', async () => {
  const env = environment(`printf '${TWO}'`, { LIST: 'vulkan' });
  const { gpus, problems } = await findMachine({ env, log: silentLogger, addonProgram: ADDON });
  assert.equal(gpus, [{ id: undefined, device: 'Vulkan0', name: 'a GPU', memoryBytes: 4 }]);
  assert.equal(problems, []);
});

const NO_FILE = 'cannot open shared object file: No such file or directory';
const BROKEN: readonly (readonly [problem: string, found: RegExp, advice: RegExp])[] = [
  [
    `load_backend: failed to load /a/libggml-cuda.so: libcublas.so.13: ${NO_FILE}`,
    /libcublas\.so\.13 is missing, a part of CUDA 13$/,
    /build-native/,
  ],
  [`libcuda.so.1: ${NO_FILE}`, /libcuda\.so\.1 is missing, a part of NVIDIA's driver$/, /driver 580.*--gpus all/],
  [`libother.so.2: ${NO_FILE}`, /does not load: libother\.so\.2 is missing$/, /install the package/],
  [
    "/lib/libc.so.6: version `GLIBC_2.38' not found (required by x)",
    /too old, because GLIBC_2\.38 is missing$/,
    /newer release/,
  ],
  [
    'failed to initialize CUDA: CUDA driver version is insufficient for CUDA runtime version',
    /driver is too old/,
    /580/,
  ],
  ['failed to initialize CUDA: no CUDA-capable device is detected', /shows none to this process/, /nvidia-smi/],
  [
    'failed to initialize CUDA: unknown error',
    /does not work: failed to initialize CUDA: unknown error$/,
    /nvidia-smi/,
  ],
];
for (const [problem, found, advice] of BROKEN) {
  Devices(`says what a backend lacks: ${problem.slice(-70)}`, async () => {
    const { log, messages } = warnings();
    const env = environment(undefined, { LIST: 'broken', PROBLEM: problem });
    const { problems = [] } = await findMachine({ env, log, addonProgram: ADDON });
    assert.equal([problems.length, messages], [1, ['GPUs cannot be used']]);
    assert.match(problems[0]!.found, /^the CUDA backend /);
    assert.match(problems[0]!.found, found);
    assert.match(problems[0]!.advice, advice);
    const none = { ...env, CUDA_VISIBLE_DEVICES: '' }; // nobody asks for a GPU
    assert.equal((await findMachine({ env: none, log: silentLogger, addonProgram: ADDON })).problems, []);
  });
}

for (const mode of ['crash', 'garbage', 'hang'] as const) {
  Devices(`trusts nvidia-smi when asking the addon ends in a ${mode}`, async () => {
    const { log, messages } = warnings();
    // All cases end in the same way, so a machine that needs longer than this to start Node fails the other cases only.
    const { gpus } = await findMachine({
      env: environment(`printf '${TWO}'`, { LIST: mode }),
      log,
      addonProgram: ADDON,
      ...(mode === 'hang' && { timeoutMs: 1000 }),
    });
    assert.is(messages.includes('the native addon cannot list GPUs'), true);
    if (mode !== 'hang') assert.is(gpus.length, 2);
  });
}

Devices('does not wait for an nvidia-smi that hangs', async () => {
  const { log, messages } = warnings();
  assert.equal(
    (await findMachine({ env: environment('exec /bin/sleep 600'), log, addonProgram: ADDON, timeoutMs: 1000 })).gpus,
    [],
  );
  assert.ok(messages.includes('nvidia-smi cannot list GPUs'));
});

Devices('rejects with the reason of its signal', async () => {
  const controller = new AbortController();
  const reason = new Error('interrupted');
  const found = findMachine({
    env: environment('exec /bin/sleep 600'),
    log: silentLogger,
    addonProgram: ADDON,
    signal: controller.signal,
  }).catch((error: unknown) => error);
  controller.abort(reason);
  assert.is(await found, reason);
});

Devices('runs no program when devices are declared, and lets the environment select among them', async () => {
  const gpus = [{ memory_bytes: 5 }, { id: 'GPU-x', name: 'big', memory_bytes: 9 }];
  const env = environment('exec /bin/sleep 600', { CUDA_VISIBLE_DEVICES: 'GPU-x,0' });
  const { probe, problems, ...machine } = await findMachine({
    env,
    log: silentLogger,
    declared: { gpus, memory_bytes: 7, cpus: 3, placement: 'pack' },
  });
  assert.equal(probe, { freeMainBytes: undefined, freeGpuBytes: undefined });
  assert.equal(problems, []);
  assert.equal(machine, {
    gpus: [
      { id: 'GPU-x', name: 'big', memoryBytes: 9 },
      { id: '0', name: 'declared GPU', memoryBytes: 5 },
    ],
    memoryBytes: 7,
    cpus: 3,
    cores: usableCpus() < 3 ? 3 : Math.min(3, usableCores()),
    processors: allowedProcessors(),
    placement: 'pack',
  });
  assert.equal((await findMachine({ env: {}, log: silentLogger, declared: { gpus: [] } })).gpus, []);
});

Devices('lists the devices of this package’s addon, when it is built, in a separate process', async () => {
  const { log, messages } = warnings();
  const { gpus } = await findMachine({ env: environment(undefined), log });
  assert.ok(Array.isArray(gpus));
  assert.equal(messages, []);
});

Devices.run();
