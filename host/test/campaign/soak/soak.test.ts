// The short form of `npm run campaign:soak`.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { skip } from '../../skip.ts';
import { slopeOf } from './slope.ts';
import { soak } from './soak.ts';
import { SOAK_WORKS } from './works.ts';

const Soaking = suite('an application under mixed load');

Soaking('a slope is that of the nearest line, with its standard error', () => {
  const on = (ys: readonly number[]): object => slopeOf(ys.map((y, x) => ({ x, y })));
  assert.equal(on([1, 3, 5, 7]), { slope: 2, error: 0 });
  const { slope, error } = slopeOf([0, 1, 0, 1].map((y, x) => ({ x, y })));
  assert.ok(Math.abs(slope - 0.2) < 1e-12 && Math.abs(error - Math.sqrt(0.08)) < 1e-12, `${slope} ${error}`);
  assert.throws(() => on([1, 2]), /three points/);
});

if (cannotRun === undefined && process.platform === 'linux')
  Soaking('answers every kind of request, and leaves no descriptor, file, process or much memory', async () => {
    const { problems, requests, deliveries, rests } = await soak({
      seconds: 9,
      every: 3,
      warmUp: 3,
      clients: 4,
      pauseMs: 50,
      seed: 1,
    });
    assert.is(problems.join('\n'), '');
    assert.equal(
      SOAK_WORKS.map(({ name }) => name).filter((name) => !requests[name]),
      [],
    );
    assert.ok(deliveries > 3, `${deliveries} deliveries`);
    const [warm, last] = [rests.at(-3), rests.at(-1)].map((rest) => (rest?.heapUsed ?? 0) + (rest?.external ?? 0));
    assert.ok(last! - warm! < 15e6, JSON.stringify(rests));
  });
else skip('an application under mixed load', cannotRun ?? 'it needs /proc');

Soaking.run();
