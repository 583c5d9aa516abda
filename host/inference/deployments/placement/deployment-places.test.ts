import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { type Machine, PlacementLedger } from '../../devices/index.ts';
import type { DevicePlace } from '../../replicas/index.ts';
import type { ReplicaMemory } from '../../rpc/index.ts';
import { DeploymentOptions } from '../class/deployment-options.ts';
import { DeploymentPlaces } from './deployment-places.ts';
import { DevicePlan } from './device-plan.ts';

const Places = suite('the places of a deployment');

const GIB = 2 ** 30;
const NEED = { weightsBytes: 8 * GIB, contextBytes: 2 * GIB };
const ON_CPU = DeploymentOptions.parse({ type: 'any' });

/** Returns a machine without GPUs and with this much memory. */
function ledgerOf(memoryGiB: number): PlacementLedger {
  return new PlacementLedger({ gpus: [], memoryBytes: memoryGiB * GIB });
}

function placesOf(ledger: PlacementLedger, name: string): DeploymentPlaces {
  const places = new DeploymentPlaces(ledger, { name, options: ON_CPU });
  places.countMemory(NEED);
  return places;
}

function taken(places: DeploymentPlaces): DevicePlace {
  const place = places.take();
  if (!place) throw new Error('there is no room');
  return place;
}

Places('count shared weights once, for a replica that remains', () => {
  const ledger = ledgerOf(16);
  const places = placesOf(ledger, 'llm');
  const [first, second] = [taken(places), taken(places)];
  assert.is(ledger.cpuMemoryBytes, 12 * GIB);
  first.release();
  assert.is(ledger.cpuMemoryBytes, 10 * GIB);
  second.release();
  assert.is(ledger.cpuMemoryBytes, 0);
});

Places('that are held keep their count when replicas leave, return and are replaced in them', () => {
  const ledger = ledgerOf(16);
  const [before, after] = [placesOf(ledger, 'llm'), placesOf(ledger, 'llm')];
  const old = [taken(before), taken(before)];
  const letGo = before.hold(old);
  for (const place of old) place.release();
  assert.is(ledger.cpuMemoryBytes, 12 * GIB);
  assert.is(placesOf(ledger, 'other').take(), undefined);
  const replacement = taken(after);
  assert.is(before.take(), undefined, 'both versions would not fit');
  assert.is(ledger.cpuMemoryBytes, 12 * GIB);
  replacement.release();
  const back = [taken(before), taken(before)];
  assert.equal([ledger.cpuMemoryBytes, ledger.size], [12 * GIB, 2]);
  letGo();
  for (const place of back) place.release();
  assert.equal([ledger.cpuMemoryBytes, ledger.size], [0, 0]);
});

Places('that were held are free at the end when no replica returned', () => {
  const ledger = ledgerOf(16);
  const places = placesOf(ledger, 'llm');
  const [first, second] = [taken(places), taken(places)];
  const letGo = places.hold([first, second]);
  first.release();
  letGo();
  assert.is(ledger.cpuMemoryBytes, 10 * GIB);
  assert.ok(placesOf(ledger, 'other').take() === undefined);
  second.release();
  assert.ok(placesOf(ledger, 'other').take());
});

/** Four cores with two hardware threads each. */
const PROCESSORS = Array.from({ length: 8 }, (_, id) => ({ id, core: id % 4, node: 0, isSlow: false }));
const boundPlaces = (affinity: string, ledger: PlacementLedger): DeploymentPlaces =>
  new DeploymentPlaces(ledger, {
    name: 'llm',
    options: DeploymentOptions.parse({ type: 'any', cpu_affinity: affinity }),
  });

Places('bind no replica unless the configuration says so', () => {
  const place = taken(
    placesOf(new PlacementLedger({ gpus: [], memoryBytes: 64 * GIB, processors: PROCESSORS }), 'llm'),
  );
  assert.equal([place.processors, place.device], [undefined, 'CPU']);
});

Places('give bound replicas cores of their own, which other replicas get after them', () => {
  const ledger = new PlacementLedger({ gpus: [], memoryBytes: 0, processors: PROCESSORS });
  const [one, other] = [boundPlaces('auto', ledger), boundPlaces('auto', ledger)];
  [one.cpus, other.cpus] = [2, 1];
  const [first, second] = [taken(one), taken(other)];
  assert.equal(
    [first.processors, second.processors],
    [
      [0, 1, 4, 5],
      [2, 6],
    ],
  );
  assert.equal([first.device, second.device], ['CPU 0-1,4-5', 'CPU 2,6']);
  first.release();
  assert.equal(taken(other).processors, [0, 4]);
});

Places('give a returning replica the cores that it had', () => {
  const ledger = new PlacementLedger({ gpus: [], memoryBytes: 0, processors: PROCESSORS });
  const places = boundPlaces('auto', ledger);
  const [first, second] = [taken(places), taken(places)];
  const letGo = places.hold([first, second]);
  first.release();
  assert.equal(taken(places).processors, first.processors);
  letGo();
});

Places('give replicas that an update starts different cores, and free ones first', () => {
  for (const [cpus, wanted] of [
    [2, ['CPU 0-1,4-5', 'CPU 2-3,6-7']],
    [1, ['CPU 2,6', 'CPU 0,4']],
  ] as const) {
    const ledger = new PlacementLedger({ gpus: [], memoryBytes: 0, processors: PROCESSORS });
    const [before, after] = [boundPlaces('auto', ledger), boundPlaces('auto', ledger)];
    [before.cpus, after.cpus] = [cpus, cpus];
    const old = [taken(before), taken(before)];
    const letGo = before.hold(old);
    const replacements = old.map((place) => {
      const replacement = taken(after);
      place.release();
      return replacement;
    });
    letGo();
    assert.equal(
      replacements.map(({ device }) => device),
      wanted,
    );
  }
});

Places('give no replica cores that the configuration lists for others while other cores are free', () => {
  const ledger = new PlacementLedger({ gpus: [], memoryBytes: 0, processors: PROCESSORS });
  const [listed, own] = [boundPlaces('0-1', ledger), boundPlaces('auto', ledger)];
  listed.reserve(1);
  assert.equal(
    [taken(own), taken(own), taken(listed)].map(({ device }) => device),
    ['CPU 2,6', 'CPU 3,7', 'CPU 0-1'],
  );
});

Places('bind all replicas to the processors that the configuration lists', () => {
  const places = boundPlaces('5,1-2', new PlacementLedger({ gpus: [], memoryBytes: 0, processors: PROCESSORS }));
  places.reserve(2);
  assert.equal(
    [taken(places), taken(places)].map(({ processors, device }) => [processors, device]),
    [
      [[1, 2, 5], 'CPU 1-2,5'],
      [[1, 2, 5], 'CPU 1-2,5'],
    ],
  );
});

Places('are refused with the processors that the host cannot use', () => {
  const some = { gpus: [], memoryBytes: 0, processors: PROCESSORS.filter(({ id }) => id !== 3) };
  for (const [affinity, machine, reason] of [
    ['0-9', some, 'the host cannot use processors 3,8-9; it may use 0-2,4-7'],
    ['3', some, 'the host cannot use processor 3; it may use 0-2,4-7'],
    [
      '0',
      { gpus: [], memoryBytes: 0 },
      'a list of processors needs Linux and the native build; leave it out, or use "auto"',
    ],
  ] as const) {
    const places = boundPlaces(affinity, new PlacementLedger(machine));
    const refused = { name: 'ValidationError', message: `deployment llm: cpu_affinity: ${reason}` };
    for (const ask of [() => places.reserve(1), () => places.requireRoom(1, [])])
      assert.throws(ask, (error: Error) => error.name === refused.name && error.message === refused.message);
  }
});

Places('bind nothing with auto where nothing can bind processes, and the log says so', () => {
  const warnings: string[] = [];
  const log = { ...silentLogger, warn: (message: string) => void warnings.push(message) } as typeof silentLogger;
  const planned = { name: 'llm', options: DeploymentOptions.parse({ type: 'any', cpu_affinity: 'auto' }) };
  const places = new DevicePlan({ gpus: [], memoryBytes: 0 }, log).reserve([planned]).get('llm');
  assert.is(places && taken(places).processors, undefined);
  assert.equal(warnings, [
    'processes are bound to processors by the native build on Linux, which is not here; cpu_affinity has no effect',
  ]);
});

Places('take no text that lists no processors', () => {
  for (const affinity of ['', 'all', '1-', '3-1', '-1', '0-9999', 'auto,1', 5])
    assert.throws(
      () => DeploymentOptions.parse({ type: 'any', cpu_affinity: affinity }),
      typeof affinity === 'string' ? /must be .*auto.* or a list of processors such as/ : /expected string/,
    );
});

/** Returns memory as a replica on the CPU reports it. */
const onCpu = (privateGiB: number, fileGiB: number): ReplicaMemory => ({
  privateBytes: privateGiB * GIB,
  fileBytes: fileGiB * GIB,
  gpus: [],
});

Places('replace the estimate by the memory that a replica reports, and expect the same of the next replica', () => {
  const ledger = ledgerOf(20);
  const places = placesOf(ledger, 'llm');
  const [first, second] = [taken(places), taken(places)];
  assert.is(ledger.cpuMemoryBytes, 12 * GIB);
  first.onMemory?.(onCpu(3, 8));
  assert.is(ledger.cpuMemoryBytes, 13 * GIB);
  second.onMemory?.(onCpu(1, 8));
  assert.is(ledger.cpuMemoryBytes, 12 * GIB);
  taken(places);
  assert.is(ledger.cpuMemoryBytes, 15 * GIB);
  first.release();
  first.onMemory?.(onCpu(9, 9)); // its last words
  assert.is(ledger.cpuMemoryBytes, 12 * GIB);
});

Places('count weights for each replica that has them in private memory', () => {
  const ledger = ledgerOf(40);
  const places = placesOf(ledger, 'asr');
  taken(places).onMemory?.(onCpu(9, 0.5));
  taken(places).onMemory?.(onCpu(9, 0.5));
  assert.is(ledger.cpuMemoryBytes, 18.5 * GIB);
});

const ON_TWO = DeploymentOptions.parse({ type: 'any', ray_actor_options: { num_gpus: 2 } });
const gpuMachine = (free: readonly number[] = []): Machine => ({
  gpus: [80, 80].map((gib, index) => ({ id: `GPU-${index}`, name: 'fake', memoryBytes: gib * GIB })),
  memoryBytes: 64 * GIB,
  probe: { freeGpuBytes: async () => free.map((gib) => gib * GIB) },
});

Places('count a model on several GPUs by its parts, then as measured, and learn what other programs use', () => {
  const ledger = new PlacementLedger(gpuMachine());
  const places = new DeploymentPlaces(ledger, { name: 'llm', options: ON_TWO });
  places.countMemory({ weightsBytes: 60 * GIB, contextBytes: 20 * GIB, parts: [3, 1] });
  const place = taken(places);
  assert.equal(
    ledger.loads().map(({ memoryBytes }) => memoryBytes / GIB),
    [60, 20],
  );
  const gpus = [
    { usedBytes: 50 * GIB, freeBytes: 29 * GIB },
    { usedBytes: 30 * GIB, freeBytes: 40 * GIB },
  ];
  place.onMemory?.({ privateBytes: GIB, fileBytes: GIB, gpus });
  assert.equal(
    ledger.loads().map(({ memoryBytes, foreignBytes }) => [memoryBytes / GIB, foreignBytes / GIB]),
    [
      [50, 1],
      [30, 10],
    ],
  );
});

Places('refuse a replica when other programs leave no room, and name them', async () => {
  const plan = new DevicePlan(gpuMachine([12, 80]), silentLogger);
  await plan.look(new AbortController().signal);
  const places = plan.placesFor({ name: 'llm', options: ON_TWO });
  const failure = (): string => {
    try {
      places.reserve(1);
      places.countMemory({ weightsBytes: 30 * GIB, contextBytes: 0 });
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.match(failure(), /needs at least 30 GiB of memory .* and the 68 GiB that other programs use/);
});

Places('query the main memory each time before they are taken', () => {
  let freeGiB = 12;
  const plan = new DevicePlan(
    { gpus: [], memoryBytes: 16 * GIB, probe: { freeMainBytes: () => freeGiB * GIB } },
    silentLogger,
  );
  const places = plan.placesFor({ name: 'llm', options: ON_CPU });
  places.countMemory(NEED);
  taken(places); // 10 of 16, others have 4
  freeGiB = 9; // 7 are used, 2 of them by the replica
  assert.is(places.take(), undefined);
  freeGiB = 14; // mapped files of the replica are reported as free
  assert.ok(places.take());
});

Places('the processors say why the GPUs of the machine are not used', () => {
  const gpus = [{ id: 'GPU-1', name: 'fake', memoryBytes: GIB }];
  const problems = [{ found: 'the Vulkan backend finds no GPU', advice: 'install a driver' }];
  const plan = new DevicePlan({ gpus, problems, memoryBytes: GIB }, silentLogger);
  assert.equal(
    plan.devices().map((device) => [device.name, device.problems]),
    [
      ['GPU 0', []],
      ['CPU', ['the Vulkan backend finds no GPU; install a driver']],
    ],
  );
});

Places.run();
