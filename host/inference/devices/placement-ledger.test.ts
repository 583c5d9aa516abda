import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Machine } from './machine.ts';
import { placementEnvironment } from './placement-environment.ts';
import { type Demand, type DeviceUse, type Placement, PlacementLedger } from './placement-ledger.ts';

const Ledger = suite('the placement ledger');

const GIB = 2 ** 30;
const machine = (gpuCount: number, gpuGiB = 80, memoryGiB = 16): Machine => ({
  gpus: Array.from({ length: gpuCount }, (_, index) => ({
    id: `GPU-${index}`,
    name: 'fake',
    memoryBytes: gpuGiB * GIB,
  })),
  memoryBytes: memoryGiB * GIB,
});
const demand = (deployment: string, gpus: number, reservedGiB = 0): Demand => ({
  deployment,
  gpus,
  reservedBytes: reservedGiB * GIB,
});
const use = (...gib: number[]): DeviceUse => ({ bytes: gib.map((each) => each * GIB) });
const placed = (ledger: PlacementLedger, wanted: Demand): Placement =>
  ledger.place(wanted) ?? assert.unreachable('no room') ?? ({} as Placement);
const sharesOf = (ledger: PlacementLedger): number[] => ledger.loads().map(({ share }) => share);

Ledger('gives shares of one GPU until it is full', () => {
  const ledger = new PlacementLedger(machine(1));
  const places = Array.from({ length: 12 }, () => ledger.place(demand('asr', 0.1)));
  assert.is(places.filter((place) => place !== undefined).length, 10);
  assert.equal(sharesOf(ledger), [1]);
});

Ledger('says what each replica has of its devices', () => {
  const ledger = new PlacementLedger({ ...machine(3), cpus: 8 });
  const part = placed(ledger, { ...demand('asr', 0.25, 2), cpus: 2 });
  const whole = placed(ledger, demand('llm', 2, 8));
  const onCpu = placed(ledger, demand('vad', 0, 1));
  assert.equal(ledger.partsOf(part), [
    { device: 0, share: 0.25, cpus: 0, memoryBytes: 2 * GIB },
    { device: 'main', share: 0, cpus: 2, memoryBytes: 0 },
  ]);
  assert.equal(ledger.partsOf(onCpu), [{ device: 'main', share: 0, cpus: 0, memoryBytes: GIB }]);
  ledger.measure(whole, use(5, 3));
  assert.equal(
    ledger.partsOf(whole).map(({ device, share, memoryBytes }) => [device, share, memoryBytes / GIB]),
    [
      [1, 1, 5],
      [2, 1, 4],
    ],
  );
  ledger.release(part);
  assert.equal(ledger.partsOf(part), []);
});

Ledger('chooses the least loaded GPU first', () => {
  const ledger = new PlacementLedger(machine(3));
  const order = [demand('a', 0.5), demand('b', 0.25), demand('c', 0.1), demand('d', 0.1), demand('e', 0.1)].map(
    (wanted) => placed(ledger, wanted).gpus,
  );
  assert.equal(order, [[0], [1], [2], [2], [2]]);
});

Ledger('spreads replicas of one deployment, even to a fuller GPU', () => {
  const ledger = new PlacementLedger(machine(2));
  placed(ledger, demand('other', 0.7));
  assert.equal(placed(ledger, demand('llm', 0.1)).gpus, [1]);
  assert.equal(placed(ledger, demand('llm', 0.1)).gpus, [0]);
  assert.equal(placed(ledger, demand('llm', 0.1)).gpus, [1]);
});

Ledger('gives one replica several whole GPUs, none of them partly taken', () => {
  const ledger = new PlacementLedger(machine(4));
  placed(ledger, demand('asr', 0.25));
  assert.equal(placed(ledger, demand('llm', 2)).gpus, [1, 2]);
  assert.is(ledger.place(demand('llm', 2)), undefined);
  assert.equal(placed(ledger, demand('llm', 1)).gpus, [3]);
  assert.equal(sharesOf(ledger), [0.25, 1, 1, 1]);
});

Ledger('has room again when a place was released', () => {
  const ledger = new PlacementLedger(machine(1));
  const place = placed(ledger, demand('asr', 1));
  placed(ledger, demand('cpu', 0));
  assert.is(ledger.place(demand('llm', 0.1)), undefined);
  ledger.release(place);
  ledger.release(place);
  assert.equal(placed(ledger, demand('llm', 1)).gpus, [0]);
  assert.is(ledger.size, 2);
});

Ledger('holds a place after its release for other places of the same deployment only', () => {
  const ledger = new PlacementLedger(machine(1, 80));
  const old = placed(ledger, demand('llm', 0.6, 60));
  ledger.hold(old);
  ledger.release(old);
  assert.is(ledger.place(demand('asr', 0.5)), undefined);
  assert.is(ledger.place(demand('asr', 0.1, 21)), undefined);
  const small = placed(ledger, demand('llm', 0.2, 10));
  assert.equal(ledger.loads(), [{ share: 0.6, memoryBytes: 60 * GIB, foreignBytes: 0 }]);
  const large = placed(ledger, demand('llm', 0.7, 10));
  assert.equal(sharesOf(ledger), [0.9]);
  assert.not.ok(ledger.retake(old));
  ledger.release(large);
  assert.ok(ledger.retake(old));
  ledger.letGo(old);
  assert.equal(sharesOf(ledger), [0.8]);
  ledger.hold(old);
  ledger.release(old);
  ledger.letGo(old);
  ledger.release(small);
  assert.is(ledger.size, 0);
});

Ledger('keeps reserved memory for its owner', () => {
  const ledger = new PlacementLedger(machine(1, 80));
  placed(ledger, demand('llm', 0.1, 60));
  assert.is(ledger.place(demand('asr', 0.1, 21)), undefined);
  assert.ok(ledger.place(demand('asr', 0.1, 20)));
  assert.equal(ledger.loads(), [{ share: 0.2, memoryBytes: 80 * GIB, foreignBytes: 0 }]);
});

Ledger('divides reserved memory among the GPUs of a replica', () => {
  const ledger = new PlacementLedger(machine(2, 80));
  assert.is(ledger.place(demand('llm', 2, 161)), undefined);
  assert.equal(placed(ledger, demand('llm', 2, 160)).gpus, [0, 1]);
});

Ledger('refuses to count more memory than a device has left, and changes nothing', () => {
  const ledger = new PlacementLedger(machine(1, 80));
  const [one, other] = [placed(ledger, demand('a', 0.5, 10)), placed(ledger, demand('b', 0.5))];
  assert.ok(ledger.count(one, use(50)));
  assert.not.ok(ledger.count(other, use(31)));
  assert.ok(ledger.count(other, use(30)));
  assert.ok(ledger.count(one, use(1))); // less than it has set aside counts as that
  assert.is(ledger.loads()[0]?.memoryBytes, 40 * GIB);
});

Ledger('places replicas that ask for GPUs on the CPU when there are none, within the main memory', () => {
  const ledger = new PlacementLedger(machine(0, 0, 16));
  const place = placed(ledger, demand('llm', 2, 10));
  assert.equal(place.gpus, []);
  assert.is(ledger.place(demand('asr', 0.5, 7)), undefined);
  assert.not.ok(ledger.count(placed(ledger, demand('asr', 0.5)), use(7)));
  assert.is(ledger.cpuMemoryBytes, 10 * GIB);
});

Ledger('does not count memory whose size is unknown', () => {
  const ledger = new PlacementLedger(machine(1, 0));
  assert.ok(ledger.count(placed(ledger, demand('llm', 1, 500)), use(1000)));
});

Ledger('chooses the fullest GPU with room when packing, so that whole GPUs stay free', () => {
  const ledger = new PlacementLedger({ ...machine(3), placement: 'pack' });
  const order = [0.5, 0.25, 0.5, 0.25, 0.5].map((share) => placed(ledger, demand('asr', share)).gpus);
  assert.equal(order, [[0], [0], [1], [0], [1]]);
  assert.equal(placed(ledger, demand('llm', 1)).gpus, [2]);
});

Ledger('gives a process at most one part of a divided GPU', () => {
  const { gpus, memoryBytes } = machine(4, 20);
  const ledger = new PlacementLedger({ gpus: gpus.map((gpu, index) => ({ ...gpu, isPart: index < 3 })), memoryBytes });
  assert.is(ledger.place(demand('llm', 2)), undefined);
  assert.equal(placed(ledger, demand('asr', 0.5)).gpus, [0]);
  assert.equal(placed(ledger, demand('llm', 1)).gpus, [1]);
});

Ledger('counts processors, including those of replicas on GPUs', () => {
  const ledger = new PlacementLedger({ ...machine(1), cpus: 4 });
  placed(ledger, { ...demand('llm', 1), cpus: 2.5 });
  assert.is(ledger.place({ ...demand('asr', 0), cpus: 2 }), undefined);
  const small = placed(ledger, { ...demand('asr', 0), cpus: 1.5 });
  placed(ledger, demand('free', 0));
  ledger.release(small);
  assert.ok(ledger.place({ ...demand('asr', 0), cpus: 1 }));
  assert.is(ledger.usedCpus, 3.5);
});

Ledger('counts the part of a model on each GPU', () => {
  const ledger = new PlacementLedger(machine(2, 80));
  const llm = placed(ledger, demand('llm', 2));
  assert.not.ok(ledger.count(llm, use(81, 10)));
  assert.ok(ledger.count(llm, use(70, 20)));
  assert.equal(
    ledger.loads().map(({ memoryBytes }) => memoryBytes),
    [70 * GIB, 20 * GIB],
  );
});

Ledger('respects the memory that other programs use, and notices when they end', () => {
  const ledger = new PlacementLedger(machine(1, 80));
  const llm = placed(ledger, demand('llm', 0.5));
  assert.ok(ledger.count(llm, use(20)));
  ledger.noteLoaded(llm, true);
  ledger.noteFree(0, 30 * GIB); // 50 are used, 20 of them by the replica
  assert.equal(ledger.loads(), [{ share: 0.5, memoryBytes: 20 * GIB, foreignBytes: 30 * GIB }]);
  assert.is(ledger.place(demand('asr', 0.1, 31)), undefined);
  assert.is(ledger.without([llm]).place(demand('asr', 0.1, 51)), undefined, 'a copy knows of them too');
  assert.ok(ledger.without([llm]).place(demand('asr', 0.1, 50)));
  ledger.noteFree(0, 60 * GIB);
  assert.ok(ledger.place(demand('asr', 0.1, 60)));
});

Ledger('does not mistake the missing memory of a loading replica for memory that others freed', () => {
  const ledger = new PlacementLedger(machine(1, 80));
  ledger.noteFree(0, 50 * GIB);
  const llm = placed(ledger, demand('llm', 0.5));
  assert.ok(ledger.count(llm, use(40)));
  const foreign = (freeGiB: number): number => {
    ledger.noteFree(0, freeGiB * GIB);
    return (ledger.loads()[0]?.foreignBytes ?? 0) / GIB;
  };
  assert.is(foreign(50), 30, 'it has nothing yet');
  assert.is(foreign(30), 30, 'it has the half');
  assert.is(foreign(5), 35, 'others have come');
  assert.is(foreign(60), 20, 'others have gone');
  ledger.noteLoaded(llm, true);
  assert.is(foreign(30), 10);
  ledger.noteLoaded(llm, false);
  assert.is(foreign(70), 10, 'it is restarted');
});

Ledger('counts mapped files of replicas as used although they are reported as free', () => {
  const ledger = new PlacementLedger(machine(0, 0, 16));
  const llm = placed(ledger, demand('llm', 0));
  assert.ok(ledger.count(llm, { bytes: [10 * GIB], visibleBytes: [2 * GIB] }));
  ledger.noteFree('main', 11 * GIB); // 5 are used, 2 of them by the replica
  assert.is(ledger.foreignMainBytes, 3 * GIB);
  assert.is(ledger.place(demand('asr', 0, 4)), undefined);
  assert.ok(ledger.place(demand('asr', 0, 3)));
});

Ledger('accepts measured memory even if it exceeds the room', () => {
  const ledger = new PlacementLedger(machine(1, 80));
  const llm = placed(ledger, demand('llm', 0.5));
  assert.ok(ledger.count(llm, use(20)));
  ledger.measure(llm, use(85));
  assert.is(ledger.loads()[0]?.memoryBytes, 85 * GIB);
  assert.is(ledger.place(demand('asr', 0.1)), undefined);
  ledger.measure(llm, use(25));
  assert.ok(ledger.place(demand('asr', 0.1, 55)));
  ledger.release(llm);
  ledger.measure(llm, use(1));
});

const ENVIRONMENTS: readonly (readonly [what: string, gpus: number, devices: string, names: string])[] = [
  ['a share', 0.5, 'GPU-0', ''],
  ['two GPUs', 2, 'GPU-0,GPU-1', ''],
  ['the CPU', 0, '', ''],
];
for (const [what, gpus, devices, names] of ENVIRONMENTS) {
  Ledger(`makes the environment of a replica that asks for ${what}`, () => {
    const two = machine(2);
    const environment = placementEnvironment(two, placed(new PlacementLedger(two), demand('a', gpus)));
    assert.equal(environment, {
      CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
      CUDA_VISIBLE_DEVICES: devices,
      AANA_GPU_DEVICES: names,
    });
  });
}

Ledger('names GPUs without a variable of their own to a replica', () => {
  const two: Machine = {
    gpus: ['Vulkan0', 'Vulkan1'].map((device) => ({ id: undefined, device, name: 'fake', memoryBytes: 0 })),
    memoryBytes: 0,
  };
  const ledger = new PlacementLedger(two);
  placed(ledger, demand('a', 1));
  const environment = placementEnvironment(two, placed(ledger, demand('a', 1)));
  assert.equal(environment, { CUDA_DEVICE_ORDER: 'PCI_BUS_ID', CUDA_VISIBLE_DEVICES: '', AANA_GPU_DEVICES: 'Vulkan1' });
});

Ledger.run();
