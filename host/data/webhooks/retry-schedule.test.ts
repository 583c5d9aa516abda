import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../../base/config/index.ts';
import { pauseMs, retryAfterMs, retryDelayMs } from './retry-schedule.ts';

const Schedule = suite('the waits between attempts');
const { webhook } = loadConfig({ env: {}, cwd: '/' });
const HOUR_MS = 3_600_000;

Schedule('grow to hours, and last about a day by default', () => {
  const waits = Array.from({ length: webhook.retry_attempts - 1 }, (_, index) =>
    retryDelayMs(index + 1, webhook, 0, () => 1),
  );
  assert.equal(waits.slice(0, 3), [5000, 10_000, 20_000]);
  assert.is(waits.at(-1), 6 * HOUR_MS);
  const sum = waits.reduce((all, one) => all + one, 0);
  assert.ok(sum > 20 * HOUR_MS && sum < 28 * HOUR_MS, String(sum));
  assert.is(
    retryDelayMs(99, webhook, 0, () => 0),
    3 * HOUR_MS,
  );
});

Schedule('follow the request of a target, inside the bounds', () => {
  assert.is(
    retryDelayMs(1, webhook, 60_000, () => 0),
    60_000,
  );
  assert.is(
    retryDelayMs(5, webhook, 1000, () => 0),
    40_000,
  );
  assert.is(
    retryDelayMs(1, webhook, 1000 * HOUR_MS, () => 0),
    6 * HOUR_MS,
  );
});

Schedule('are read from seconds and dates', () => {
  const now = Date.UTC(2026, 0, 1, 0, 0, 0);
  const read = (header: string | undefined): number => retryAfterMs(header, now);
  assert.equal(
    [
      read(undefined),
      read('120'),
      read('Thu, 01 Jan 2026 00:01:00 GMT'),
      read('Wed, 31 Dec 2025 00:00:00 GMT'),
      read('-1'),
      read('soon'),
    ],
    [0, 120_000, 60_000, 0, 0, 0],
  );
});

Schedule('limit a target that keeps failing to occasional attempts', () => {
  assert.equal(
    [1, 4, 5, 6, 11, 99].map((failures) => pauseMs(failures, webhook, 0)),
    [0, 0, 1000, 2000, 60_000, 60_000],
  );
  assert.equal([pauseMs(1, webhook, 5000), pauseMs(1, webhook, 1000 * HOUR_MS)], [5000, 6 * HOUR_MS]);
});

Schedule.run();
