import { AanaError, fail } from '../../../base/core/errors.ts';
import type { Fleet } from '../set/fleet.ts';
import type { ReplicaVersion } from '../set/replica-version.ts';
import type { RunningReplica } from '../process/running-replica.ts';

/** Passes over the replicas. A further pass finds replicas that started during the previous one. */
const MAX_PASSES = 8;

/** What the replicas get. They may go without progress for the start timeout, the one that comes with the spec. */
type Wanted = Pick<ReplicaVersion, 'spec' | 'startTimeoutMs'>;

/**
 * Gives all running replicas another spec. Waits for replicas that are loading. When a replica refuses the spec or is
 * lost, the replicas that took it get their old spec back, and the error is thrown. A replica that refuses the old
 * spec, or does not answer in time, is ended after its calls or `graceMs`; its successor starts from the old spec.
 */
export async function reconfigureAll(fleet: Fleet, wanted: Wanted, graceMs: number): Promise<void> {
  const changed = new Map<RunningReplica, unknown>();
  try {
    for (let pass = 0; pass < MAX_PASSES; pass += 1) {
      const others = running(fleet).filter((replica) => fleet.specOf(replica) !== wanted.spec);
      if (others.length === 0) return;
      const results = await Promise.allSettled(
        others.map((replica) => change(fleet, replica, wanted, changed, graceMs)),
      );
      const failed = results.find((result) => result.status === 'rejected');
      if (failed) throw failed.reason;
    }
    throw fail('ReplicaLostError', 'the replicas do not stay up long enough to take another configuration', {
      fault: 'replica-lost',
    });
  } catch (error) {
    const { startTimeoutMs } = wanted;
    await Promise.all(
      [...changed].map(([replica, spec]) => restore(fleet, replica, { spec, startTimeoutMs }, graceMs)),
    );
    throw error;
  }
}

async function change(
  fleet: Fleet,
  replica: RunningReplica,
  { spec, startTimeoutMs }: Wanted,
  changed: Map<RunningReplica, unknown>,
  graceMs: number,
): Promise<void> {
  const outcome = await replica.started;
  if (!outcome.ok || !isUp(replica)) return; // the next pass finds its successor
  const before = fleet.specOf(replica);
  try {
    await fleet.reconfigure(replica, spec, startTimeoutMs); // rejects when the replica dies of it
  } catch (error) {
    if (error instanceof AanaError && error.name === 'ReconfigureTimeout')
      void replica.stop(graceMs, 'it did not take a changed configuration in time');
    throw error;
  }
  changed.set(replica, before);
}

async function restore(
  fleet: Fleet,
  replica: RunningReplica,
  { spec, startTimeoutMs }: Wanted,
  graceMs: number,
): Promise<void> {
  if (!isUp(replica)) return;
  try {
    await fleet.reconfigure(replica, spec, startTimeoutMs);
  } catch {
    await replica.stop(graceMs, 'it did not take its old configuration back');
  }
}

function running(fleet: Fleet): RunningReplica[] {
  return fleet.kept.flatMap(({ slot }) => (slot.replica && slot.replica.state !== 'exited' ? [slot.replica] : []));
}

const isUp = (replica: RunningReplica): boolean => replica.state === 'ready';
