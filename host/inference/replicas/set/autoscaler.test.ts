// The controller alone in simulated time, called once a second.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Autoscaler, type AutoscalerOptions } from './autoscaler.ts';

const Scaling = suite('the autoscaler');

const OPTIONS: AutoscalerOptions = {
  minReplicas: 1,
  maxReplicas: 8,
  targetOngoing: 2,
  upscaleDelayMs: 30_000,
  downscaleDelayMs: 600_000,
};

/** Returns the number of replicas in each second when `load` calls are running or waiting. */
function simulate(
  options: Partial<AutoscalerOptions>,
  seconds: number,
  load: (second: number) => number,
  first = options.minReplicas ?? 1,
): number[] {
  const scaler = new Autoscaler({ ...OPTIONS, ...options });
  let replicas = first;
  return Array.from(
    { length: seconds },
    (_, second) => (replicas = scaler.decide(second * 1000, load(second), replicas)),
  );
}

const changes = (replicas: readonly number[]): [second: number, replicas: number][] =>
  replicas.flatMap((count, second): [number, number][] =>
    second > 0 && count !== replicas[second - 1] ? [[second, count]] : [],
  );

Scaling('scales up after the upscale delay, to the number that the load needs', () => {
  assert.equal(changes(simulate({}, 100, (second) => (second < 10 ? 1 : 7))), [[40, 4]]);
});

Scaling('scales up to the least number that was wanted during the delay', () => {
  assert.equal(changes(simulate({}, 60, (second) => (second < 10 ? 1 : second === 25 ? 6 : 16))), [
    [40, 3],
    [56, 8],
  ]);
});

Scaling('scales down after the downscale delay, to the greatest number that was wanted during it', () => {
  assert.equal(changes(simulate({}, 1500, (second) => (second < 100 ? 8 : second === 400 ? 6 : 0), 4)), [
    [700, 3],
    [1001, 1],
  ]);
});

Scaling('stays between its bounds', () => {
  assert.equal(changes(simulate({ maxReplicas: 3 }, 100, () => 1000)), [[30, 3]]);
  assert.equal(simulate({ minReplicas: 2 }, 2000, () => 0).at(-1), 2);
});

Scaling('corrects a number outside of its bounds at once', () => {
  assert.is(new Autoscaler({ ...OPTIONS, minReplicas: 2 }).decide(0, 0, 1), 2);
  assert.is(new Autoscaler({ ...OPTIONS, maxReplicas: 4 }).decide(0, 100, 6), 4);
});

Scaling('scales to zero, and from zero at the first call', () => {
  const load = (second: number): number => (second === 700 ? 3 : 0);
  assert.equal(changes(simulate({ minReplicas: 0 }, 1400, load, 1)), [
    [600, 0],
    [700, 2],
    [1301, 0],
  ]);
});

Scaling('ignores load that swings faster than its delays', () => {
  // Load for 1 and for 8 replicas in turns of 20 s; then at random each second.
  assert.equal(changes(simulate({}, 3600, (second) => (second % 40 < 20 ? 0 : 16))), []);
  let seed = 1;
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  assert.ok(changes(simulate({}, 3600, () => Math.floor(random() * 17), 3)).length <= 1);
});

Scaling('does not oscillate when replicas work off the queue that made it grow', () => {
  // 9 calls arrive each second; a replica serves 2. Too many replicas empty the queue, which must not remove them again
  // and again.
  const scaler = new Autoscaler(OPTIONS);
  const counts: number[] = [];
  let [waiting, replicas] = [0, 1];
  for (let second = 0; second < 3600; second += 1) {
    waiting = Math.max(0, waiting + 9 - replicas * 2);
    replicas = scaler.decide(second * 1000, waiting + Math.min(9, replicas * 2), replicas);
    counts.push(replicas);
  }
  const directions = changes(counts).map(([second, count]) => Math.sign(count - (counts[second - 1] ?? 0)));
  const turns = directions.filter((direction, index) => index > 0 && direction !== directions[index - 1]).length;
  assert.ok(turns <= 1, `it turned ${turns} times: ${JSON.stringify(changes(counts))}`);
});

Scaling('follows a day of load without a change in the other direction inside one delay', () => {
  const day = simulate({}, 86_400, (second) => 8 - 8 * Math.cos((second / 86_400) * 2 * Math.PI) + Math.sin(second));
  const steps = changes(day);
  const top = Math.max(...day);
  assert.is(top, 8);
  const rising = steps.filter(([second]) => second < 43_000).map(([, count]) => count);
  assert.equal(
    rising,
    [...rising].sort((a, b) => a - b),
  );
});

Scaling.run();
