import { delay } from '../../../core/abort.ts';
import type { Random } from '../../simulation/random.ts';
import type { HostSlot } from './host-slot.ts';

const VICTIMS = ['host', 'thread', 'replica'] as const;
type Victim = (typeof VICTIMS)[number];
const PAUSE_MS = 250;

/** Kills so many of each, in an order and at times that are random: a host also while it starts. */
export async function killAll(
  hosts: readonly HostSlot[],
  random: Random,
  kills: number,
): Promise<Record<Victim, number>> {
  const counts: Record<Victim, number> = { host: 0, thread: 0, replica: 0 };
  const left = (): Victim[] => VICTIMS.filter((victim) => counts[victim] < kills);
  for (let [first, ...others] = left(); first; [first, ...others] = left()) {
    const victim = random.pick([first, ...others]);
    const host = random.pick([hosts[0] as HostSlot, ...hosts.slice(1)]);
    const isEarly = victim === 'host' && random.chance(0.2);
    if (!isEarly) await host.ready();
    await delay(random.exponential(PAUSE_MS));
    const number = random.int(0, 1000);
    if (victim === 'host') await host.kill();
    else if (!(victim === 'replica' ? await host.killReplica(number) : host.endThread(number))) continue; // it is not there just now
    counts[victim] += 1;
  }
  return counts;
}
