import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Machine } from './machine.ts';
import { placementEnvironment } from './placement-environment.ts';
import { type Demand, type Placement, PlacementLedger } from './placement-ledger.ts';

const Ledger = suite('the placement ledger');

const GIB = 2 ** 30;
const machine = (gpuCount: number, gpuGiB = 80, memoryGiB = 16): Machine => ({
  gpus: Array.from({ length: gpuCount }, (_, index) => ({ id: `GPU-${index}`, name: 'fake', memoryBytes: gpuGiB * GIB })),
  memoryBytes: memoryGiB * GIB,
});
const demand = (deployment: string, gpus: number | undefined, reservedGiB = 0): Demand => ({ deployment, gpus, reservedBytes: reservedGiB * GIB });
const placed = (ledger: PlacementLedger, wanted: Demand): Placement => ledger.place(wanted) ?? assert.unreachable('no room') ?? ({} as Placement);
const sharesOf = (ledger: PlacementLedger): number[] => ledger.loads().map(({ share }) => share);

Ledger('gives shares of one GPU until it is full, and not more', () => {
  const ledger = new PlacementLedger(machine(1));
  const places = Array.from({ length: 12 }, () => ledger.place(demand('asr', 0.1)));
  assert.is(places.filter((place) => place !== undefined).length, 10);
  assert.equal(sharesOf(ledger), [1]);
});

Ledger('takes the least loaded GPU first', () => {
  const ledger = new PlacementLedger(machine(3));
  const order = [demand('a', 0.5), demand('b', 0.25), demand('c', 0.1), demand('d', 0.1), demand('e', 0.1)].map((wanted) => placed(ledger, wanted).gpus);
  assert.equal(order, [[0], [1], [2], [2], [2]]);
});

Ledger('puts replicas of one deployment apart, even on a fuller GPU', () => {
  const ledger = new PlacementLedger(machine(2));
  placed(ledger, demand('other', 0.7));
  assert.equal(placed(ledger, demand('llm', 0.1)).gpus, [1]);
  assert.equal(placed(ledger, demand('llm', 0.1)).gpus, [0]);
  assert.equal(placed(ledger, demand('llm', 0.1)).gpus, [1]);
});

Ledger('gives several whole GPUs to one replica, none that is partly taken', () => {
  const ledger = new PlacementLedger(machine(4));
  placed(ledger, demand('asr', 0.25));
  assert.equal(placed(ledger, demand('llm', 2)).gpus, [1, 2]);
  assert.is(ledger.place(demand('llm', 2)), undefined);
  assert.equal(placed(ledger, demand('llm', 1)).gpus, [3]);
  assert.equal(sharesOf(ledger), [0.25, 1, 1, 1]);
});

Ledger('has room again when a place was released, once', () => {
  const ledger = new PlacementLedger(machine(1));
  const place = placed(ledger, demand('asr', 1));
  placed(ledger, demand('cpu', 0));
  assert.is(ledger.place(demand('llm', 0.1)), undefined);
  ledger.release(place);
  ledger.release(place);
  assert.equal(placed(ledger, demand('llm', 1)).gpus, [0]);
  assert.is(ledger.size, 2);
});

Ledger('holds a place after its release: others get nothing of it, its deployment may have others within it', () => {
  const ledger = new PlacementLedger(machine(1, 80));
  const old = placed(ledger, demand('llm', 0.6, 60));
  ledger.hold(old);
  ledger.release(old);
  assert.is(ledger.place(demand('asr', 0.5)), undefined);
  assert.is(ledger.place(demand('asr', 0.1, 21)), undefined);
  const small = placed(ledger, demand('llm', 0.2, 10));
  assert.equal(ledger.loads(), [{ share: 0.6, memoryBytes: 60 * GIB }]);
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

Ledger('keeps memory that is set aside for its owner', () => {
  const ledger = new PlacementLedger(machine(1, 80));
  placed(ledger, demand('llm', 0.1, 60));
  assert.is(ledger.place(demand('asr', 0.1, 21)), undefined);
  assert.ok(ledger.place(demand('asr', 0.1, 20)));
  assert.equal(ledger.loads(), [{ share: 0.2, memoryBytes: 80 * GIB }]);
});

Ledger('divides memory that is set aside among the GPUs of a replica', () => {
  const ledger = new PlacementLedger(machine(2, 80));
  assert.is(ledger.place(demand('llm', 2, 161)), undefined);
  assert.equal(placed(ledger, demand('llm', 2, 160)).gpus, [0, 1]);
});

Ledger('refuses to count more memory than a device has left, and leaves the table as it was', () => {
  const ledger = new PlacementLedger(machine(1, 80));
  const [one, other] = [placed(ledger, demand('a', 0.5, 10)), placed(ledger, demand('b', 0.5))];
  assert.ok(ledger.count(one, 50 * GIB));
  assert.not.ok(ledger.count(other, 31 * GIB));
  assert.ok(ledger.count(other, 30 * GIB));
  assert.ok(ledger.count(one, GIB)); // less than it has set aside counts as that
  assert.is(ledger.loads()[0]?.memoryBytes, 40 * GIB);
});

Ledger('runs on the CPU what asks for GPUs where there are none, within the main memory', () => {
  const ledger = new PlacementLedger(machine(0, 0, 16));
  const place = placed(ledger, demand('llm', 2, 10));
  assert.equal([place.gpus, place.unbound], [[], false]);
  assert.is(ledger.place(demand('asr', 0.5, 7)), undefined);
  assert.not.ok(ledger.count(placed(ledger, demand('asr', 0.5)), 7 * GIB));
  assert.is(ledger.cpuMemoryBytes, 10 * GIB);
});

Ledger('leaves one that asks for no number all GPUs, and counts nothing', () => {
  const ledger = new PlacementLedger(machine(1));
  const place = placed(ledger, demand('llm', undefined));
  assert.ok(place.unbound);
  assert.ok(ledger.count(place, 1000 * GIB));
  assert.equal(ledger.loads(), [{ share: 0, memoryBytes: 0 }]);
  assert.not.ok(placed(new PlacementLedger(machine(0)), demand('llm', undefined)).unbound);
});

Ledger('does not count memory where nobody knows how much there is', () => {
  const ledger = new PlacementLedger(machine(1, 0));
  assert.ok(ledger.count(placed(ledger, demand('llm', 1, 500)), 1000 * GIB));
});

const ENVIRONMENTS: readonly (readonly [what: string, gpus: number | undefined, environment: Record<string, string>])[] = [
  ['a share', 0.5, { CUDA_DEVICE_ORDER: 'PCI_BUS_ID', CUDA_VISIBLE_DEVICES: 'GPU-0' }],
  ['two GPUs', 2, { CUDA_DEVICE_ORDER: 'PCI_BUS_ID', CUDA_VISIBLE_DEVICES: 'GPU-0,GPU-1' }],
  ['the CPU', 0, { CUDA_DEVICE_ORDER: 'PCI_BUS_ID', CUDA_VISIBLE_DEVICES: '' }],
  ['no number', undefined, {}],
];
for (const [what, gpus, environment] of ENVIRONMENTS) {
  Ledger(`makes the environment of a replica that asks for ${what}`, () => {
    const two = machine(2);
    assert.equal(placementEnvironment(two, placed(new PlacementLedger(two), demand('a', gpus))), environment);
  });
}

Ledger.run();
