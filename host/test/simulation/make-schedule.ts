import type { DeploymentOptionsInput } from '../../inference/deployments/index.ts';
import type { Machine } from '../../inference/devices/index.ts';
import type { Random } from './random.ts';
import type { Faults } from './simulated-replica.ts';

export interface PlannedCall {
  readonly id: number;
  readonly deployment: string;
  /** Time of the call. */
  readonly at: number;
  readonly ms: number;
  readonly fails: boolean;
  /** The kind of poison of a call that ends its replica. All calls of a kind have the same arguments. */
  readonly poison: number | undefined;
  /** Number of values of the stream; undefined for a single result. */
  readonly values: number | undefined;
  /** Milliseconds after which the caller leaves. */
  readonly cancelAfter: number | undefined;
  readonly key: string;
}

/** A change of a deployment while it serves. */
export type PlannedChange = { readonly at: number; readonly deployment: string } & (
  | {
      readonly kind: 'update';
      readonly change: Readonly<Record<string, unknown>>;
      readonly isBad: boolean;
      readonly gpus: number | undefined;
      readonly cancelAfter: number | undefined;
    }
  | { readonly kind: 'scale'; readonly replicas: number }
  | { readonly kind: 'renew' }
);

/** All random decisions that are made before the clock starts. */
export interface Schedule {
  readonly machine: Machine;
  readonly deployments: ReadonlyMap<string, DeploymentOptionsInput>;
  readonly faults: Faults;
  /** The time, relative to the first start, from which every start is refused, and for how long. */
  readonly outage: { readonly at: number; readonly ms: number } | undefined;
  readonly calls: readonly PlannedCall[];
  readonly changes: readonly PlannedChange[];
}

const GB = 1e9;

export function makeSchedule(random: Random): Schedule {
  /** More deployments that may sleep than can be awake at the same time. */
  const isCrowded = random.chance(0.2);
  /** Nothing fails by itself, and calls may finish. */
  const isCalm = random.chance(0.2);
  const machine: Machine = {
    gpus: Array.from({ length: isCrowded ? random.int(1, 2) : random.pick([0, 1, 2, 2, 4]) }, (_, index) => ({
      id: `GPU-${index}`,
      name: 'simulated',
      memoryBytes: 40 * GB,
    })),
    memoryBytes: 64 * GB,
  };
  const deployments = new Map(
    Array.from(
      { length: isCrowded ? 4 : random.int(1, 3) },
      (_, index) => [`deployment${index}`, makeOptions(random, isCrowded)] as const,
    ),
  );
  const faults: Faults = {
    startCrash: isCalm ? 0 : random.pick([0, 0.05, 0.3]),
    startHang: isCalm ? 0 : random.pick([0, 0, 0.1]),
    startReject: isCalm ? 0 : random.pick([0, 0, 0.03]),
    refuseFrom: Number.POSITIVE_INFINITY,
    refuseUntil: Number.POSITIVE_INFINITY,
    startMs: random.pick<readonly [number, number]>([
      [50, 500],
      [1000, 8000],
      [100, 20_000],
    ]),
    crashMs: isCalm ? Number.POSITIVE_INFINITY : random.pick([2000, 20_000, 200_000]),
    hangMs: isCalm ? Number.POSITIVE_INFINITY : random.pick([20_000, 200_000, Number.POSITIVE_INFINITY]),
  };
  const calls = makeCalls(random, [...deployments.keys()]);
  const until = calls.at(-1)?.at ?? 0;
  const outage =
    !isCalm && random.chance(0.25)
      ? { at: random.between(0, until), ms: random.pick([2000, 20_000, 200_000]) }
      : undefined;
  return { machine, deployments, faults, outage, calls, changes: makeChanges(random, [...deployments.keys()], until) };
}

function makeOptions(random: Random, isCrowded: boolean): DeploymentOptionsInput {
  const isScaled = isCrowded || random.chance(0.5);
  const gpus = isCrowded ? random.pick([0.5, 1]) : random.pick([undefined, 0, 0.1, 0.25, 0.5, 0.5, 1, 2]);
  const devices = (reserved: number | undefined): object => ({
    ...(gpus !== undefined && { num_gpus: gpus }),
    ...(reserved !== undefined && { memory_bytes: reserved }),
  });
  const reserved =
    gpus === undefined ? undefined : isCrowded ? undefined : random.pick([undefined, undefined, 5 * GB, 20 * GB]);
  return {
    type: 'SimulatedDeployment',
    user_config: {
      weights_bytes: random.between(0, 8) * GB,
      context_bytes: random.between(0, 4) * GB,
      devices: devices(reserved),
    },
    max_ongoing_requests: random.int(1, 4),
    max_queued_requests: random.int(1, 20),
    health_check_period_s: random.between(5, 10),
    health_check_timeout_s: random.between(10, 30),
    graceful_shutdown_timeout_s: random.pick([0, 1, 20]),
    drain_timeout_s: random.pick([0, 5, 3600]),
    ray_actor_options: devices(reserved),
    pinned: random.chance(0.1),
    ...(isScaled
      ? {
          autoscaling_config: {
            min_replicas: isCrowded ? 0 : random.pick([0, 0, 1]),
            max_replicas: random.int(1, 4),
            target_ongoing_requests: random.pick([0.5, 1, 2]),
            upscale_delay_s: random.pick([0, 2, 10]),
            downscale_delay_s: random.pick([0, 4, 30]),
          },
        }
      : { num_replicas: random.int(1, 3) }),
  };
}

/** Returns calls in bursts, with pauses in which a deployment may fall asleep. */
function makeCalls(random: Random, deployments: readonly string[]): PlannedCall[] {
  const [first = ''] = deployments;
  const calls: PlannedCall[] = [];
  let at = 0;
  const poisons = random.pick([0, 0, 1, 2]);
  const longest = random.pick([200, 2000, 10_000, 60_000]); // the last is longer than any grace period
  for (let burst = random.int(1, 4); burst > 0; burst -= 1) {
    const pause = random.pick([5, 100, 1000]);
    for (let left = random.int(1, 15); left > 0; left -= 1) {
      at += random.exponential(pause);
      calls.push({
        id: calls.length,
        deployment: random.pick([first, ...deployments]),
        at,
        ms: random.between(1, longest),
        fails: random.chance(0.08),
        poison: poisons > 0 && random.chance(0.1) ? random.int(1, poisons) : undefined,
        values: random.chance(0.4) ? random.int(0, 6) : undefined,
        cancelAfter: random.chance(0.1) ? random.between(0, longest) : undefined,
        key: `prompt ${random.int(0, 3)}`,
      });
    }
    at += random.pick([0, 1000, 10_000, 40_000]);
  }
  return calls;
}

/** Returns the changes, in two of three schedules. Some come while another change is being made. */
function makeChanges(random: Random, deployments: readonly string[], until: number): PlannedChange[] {
  const [first = ''] = deployments;
  const changes: PlannedChange[] = [];
  for (let count = random.pick([0, 1, 4]); count > 0; count -= 1) {
    const change = { at: random.between(0, until + 10_000), deployment: random.pick([first, ...deployments]) };
    const kind = random.pick(['good', 'good', 'bad', 'bad', 'tone', 'scale', 'renew']);
    if (kind === 'scale') changes.push({ ...change, kind, replicas: random.int(0, 4) });
    else if (kind === 'renew') changes.push({ ...change, kind });
    else {
      const version = changes.length + 1;
      const [isBad, isRolled] = [kind === 'bad', kind !== 'tone'];
      changes.push({
        ...change,
        kind: 'update',
        isBad,
        change: isRolled
          ? { version, ...(isBad && { bad: random.pick(['reject', 'crash', 'mayfly', 'throws']) }) }
          : { tone: version },
        gpus: isRolled && random.chance(0.3) ? random.pick([0.25, 0.5, 1]) : undefined,
        cancelAfter: random.chance(0.1) ? random.between(0, 5000) : undefined,
      });
    }
  }
  return changes;
}
