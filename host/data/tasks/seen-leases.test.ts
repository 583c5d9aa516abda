import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { HeldLease } from '../storage/index.ts';
import { SeenLeases } from './seen-leases.ts';

const Leases = suite('SeenLeases');

function lease(id: string, change: Partial<HeldLease> = {}): HeldLease {
  return { id, lease_token: 1, lease_ms: 1000, lease_renewals: 0, num_retries: 1, max_attempts: 3, ...change };
}

const lostOf = (leases: SeenLeases, held: readonly HeldLease[], sinceMs: number): string[] =>
  leases.look(held, sinceMs).map(({ id }) => id);

Leases('calls a task lost after its lease was seen unchanged for its length', () => {
  const leases = new SeenLeases();
  const held = [lease('short'), lease('long', { lease_ms: 2000 })];
  assert.equal(lostOf(leases, held, 60_000), [], 'the first look says nothing about the time before it');
  assert.equal(lostOf(leases, held, 999), []);
  assert.equal(lostOf(leases, held, 1), ['short']);
  assert.equal(lostOf(leases, held, 1000), ['short', 'long']);
});

Leases('begins again after a renewal, another attempt, an absence and an outage', () => {
  const leases = new SeenLeases();
  const changes = [{ lease_renewals: 1 }, { lease_renewals: 1, lease_token: 2 }, undefined, { lease_token: 2 }];
  lostOf(leases, [lease('a')], 0);
  for (const change of changes) {
    assert.equal(lostOf(leases, change ? [lease('a', change)] : [], 1000), []);
    if (change) assert.equal(lostOf(leases, [lease('a', change)], 999), []);
  }
  leases.forget();
  assert.equal(lostOf(leases, [lease('a', { lease_token: 2 })], 1000), []);
  assert.equal(lostOf(leases, [lease('a', { lease_token: 2 })], 1000), ['a']);
});

Leases.run();
