import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Random } from '../../../test/simulation/random.ts';
import { HealthChecks } from './health-checks.ts';

const Checks = suite('health checks');

/** Milliseconds. */
const PERIOD = 100;
const TIMEOUT = 3000;
/** More checks than any case needs. */
const MANY = 1000;

interface Check {
  readonly isBusy?: boolean;
  /** Whether the engine beats before the check. */
  readonly beats?: boolean;
  /** What the process has had of one processor since the check before, from 0 to 1. */
  readonly share: number;
}

/** Returns how many checks passed before the replica was found to be unhealthy; undefined if it was not. */
function checksUntilUnhealthy(checkOf: (n: number) => Check): number | undefined {
  let reason: string | undefined;
  const checks = new HealthChecks({
    periodMs: PERIOD,
    timeoutMs: TIMEOUT,
    ping: () => {},
    onUnhealthy: (given) => (reason = given),
  });
  let [count, cpuMs] = [0, 12_345];
  for (let n = 0; n < MANY; n += 1) {
    const { isBusy = true, beats = false, share } = checkOf(n);
    if (beats) count += 1;
    cpuMs += share * PERIOD;
    checks.onAnswer({ busy: isBusy, beats: count, cpuMs });
    if (reason === undefined) continue;
    assert.is(reason, 'its engine has work but made no progress for 3 s');
    return n;
  }
  return undefined;
}

Checks('count the time of the processor that an engine without progress has', () => {
  for (const share of [1, 0.5, 0.2, 0.08])
    assert.is(
      checksUntilUnhealthy(() => ({ share })),
      Math.ceil(TIMEOUT / PERIOD / share - 1e-9),
    );
});

Checks('count all of the time if it needs no processor, and no more than all if it needs several', () => {
  for (const share of [0, 0.01, 0.04, 1, 2.5, 16])
    assert.is(
      checksUntilUnhealthy(() => ({ share })),
      TIMEOUT / PERIOD,
    );
});

Checks('begin anew with each progress, and count nothing while there is no work', () => {
  const random = new Random(7);
  for (let round = 0; round < 50; round += 1) {
    const isProgress = random.int(0, 1) === 1;
    assert.is(
      checksUntilUnhealthy((n) => ({
        share: random.next() * 3,
        beats: isProgress && n % (TIMEOUT / PERIOD) === 0,
        isBusy: isProgress || n % (TIMEOUT / PERIOD) !== 0,
      })),
      undefined,
    );
  }
});

Checks.run();
