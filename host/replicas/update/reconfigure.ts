import { AanaError } from '../../core/errors.ts';
import type { Fleet } from '../set/fleet.ts';
import type { RunningReplica } from '../process/running-replica.ts';

/** Times that replicas are looked for which have started meanwhile. */
const MAX_PASSES = 8;

/**
 * Hands all replicas that run another spec. When one does not take it, or is lost over it, those that did get what they
 * had, and the error is thrown; one that does not take that either, or that does not say in time whether it took the
 * other, finishes its calls, for `graceMs`, and ends: whatever starts then starts from what there was. Replicas that
 * load are waited for.
 */
export async function reconfigureAll(fleet: Fleet, spec: unknown, graceMs: number): Promise<void> {
  const changed = new Map<RunningReplica, unknown>();
  try {
    for (let pass = 0; pass < MAX_PASSES; pass += 1) {
      const others = running(fleet).filter((replica) => fleet.specOf(replica) !== spec);
      if (others.length === 0) return;
      const results = await Promise.allSettled(others.map((replica) => change(fleet, replica, spec, changed, graceMs)));
      const failed = results.find((result) => result.status === 'rejected');
      if (failed) throw failed.reason;
    }
    throw new AanaError(
      'ReplicaLostError',
      'unavailable',
      'its replicas do not stay up for long enough to take another configuration',
      { fault: 'replica-lost' },
    );
  } catch (error) {
    await Promise.all([...changed].map(([replica, before]) => restore(fleet, replica, before, graceMs)));
    throw error;
  }
}

async function change(
  fleet: Fleet,
  replica: RunningReplica,
  spec: unknown,
  changed: Map<RunningReplica, unknown>,
  graceMs: number,
): Promise<void> {
  const outcome = await replica.started;
  if (!outcome.ok || !isUp(replica)) return; // the next pass sees what follows it
  const before = fleet.specOf(replica);
  try {
    await fleet.reconfigure(replica, spec); // one that dies of it has not taken it
  } catch (error) {
    if (error instanceof AanaError && error.name === 'ReconfigureTimeout')
      void replica.stop(graceMs, 'it did not take another configuration in time');
    throw error;
  }
  changed.set(replica, before);
}

async function restore(fleet: Fleet, replica: RunningReplica, before: unknown, graceMs: number): Promise<void> {
  if (!isUp(replica)) return;
  try {
    await fleet.reconfigure(replica, before);
  } catch {
    await replica.stop(graceMs, 'it could not be given back its configuration');
  }
}

function running(fleet: Fleet): RunningReplica[] {
  return fleet.kept.flatMap(({ slot }) => (slot.replica && slot.replica.state !== 'exited' ? [slot.replica] : []));
}

const isUp = (replica: RunningReplica): boolean => replica.state === 'ready';
