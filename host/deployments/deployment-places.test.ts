import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PlacementLedger } from '../devices/index.ts';
import type { Place } from '../replicas/index.ts';
import { DeploymentOptions } from './deployment-options.ts';
import { DeploymentPlaces } from './deployment-places.ts';

const Places = suite('the places of a deployment');

const GIB = 2 ** 30;
const NEED = { weightsBytes: 8 * GIB, contextBytes: 2 * GIB };
const ON_CPU = DeploymentOptions.parse({ type: 'any' });

/** Without GPUs, with so much memory. */
function ledgerOf(memoryGiB: number): PlacementLedger {
  return new PlacementLedger({ gpus: [], memoryBytes: memoryGiB * GIB });
}

function placesOf(ledger: PlacementLedger, name: string): DeploymentPlaces {
  const places = new DeploymentPlaces(ledger, { name, options: ON_CPU });
  places.countMemory(NEED);
  return places;
}

function taken(places: DeploymentPlaces): Place {
  const place = places.take();
  if (!place) throw new Error('there is no room');
  return place;
}

Places('count weights that all share once, with whoever is left', () => {
  const ledger = ledgerOf(16);
  const places = placesOf(ledger, 'llm');
  const [first, second] = [taken(places), taken(places)];
  assert.is(ledger.cpuMemoryBytes, 12 * GIB);
  first.release();
  assert.is(ledger.cpuMemoryBytes, 10 * GIB);
  second.release();
  assert.is(ledger.cpuMemoryBytes, 0);
});

Places('that are held count the same when replicas leave, come back and are replaced within them', () => {
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

Places('that were held are free at the end, when nobody came back', () => {
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

Places.run();
