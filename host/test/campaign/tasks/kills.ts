import { delay } from '../../../base/core/abort.ts';
import type { Random } from '../../simulation/random.ts';
import type { HostKeeper } from './host-keeper.ts';

const VICTIMS = ['host', 'plugin', 'replica'] as const;
type Victim = (typeof VICTIMS)[number];
const PAUSE_MS = 250;

/** Kills `kills` of each kind, in random order and at random times. Some hosts are killed while they start. */
export async function killAll(
  hosts: readonly HostKeeper[],
  random: Random,
  kills: number,
): Promise<Record<Victim, number>> {
  const counts: Record<Victim, number> = { host: 0, plugin: 0, replica: 0 };
  const left = (): Victim[] => VICTIMS.filter((victim) => counts[victim] < kills);
  for (let [first, ...others] = left(); first; [first, ...others] = left()) {
    const victim = random.pick([first, ...others]);
    const host = random.pick([hosts[0] as HostKeeper, ...hosts.slice(1)]);
    const isEarly = victim === 'host' && random.chance(0.2);
    if (!isEarly) await host.ready();
    await delay(random.exponential(PAUSE_MS));
    const number = random.int(0, 1000);
    if (victim === 'host') await host.kill();
    // It is not running now.
    else if (!(await host.killChild(victim, number))) continue;
    counts[victim] += 1;
  }
  return counts;
}
