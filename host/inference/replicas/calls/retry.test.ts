import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Clock } from '../../../base/core/clock.ts';
import { AanaError } from '../../../base/core/errors.ts';
import { replicaLost } from '../process/replica-lost.ts';
import { callWithRetry, DEFAULT_RETRIES, type RetryOptions, streamWithRetry } from './retry.ts';

const Retry = suite('repeating calls');

const lost = (): AanaError => new AanaError('ReplicaLostError', 'unavailable', 'lost', { fault: 'replica-lost' });

/** Returns options whose waits are recorded and take no time. */
function options(more: Partial<RetryOptions> = {}): { options: RetryOptions; waits: number[] } {
  const waits: number[] = [];
  const clock: Clock = {
    now: () => 0,
    delay: async (ms, signal) => {
      signal?.throwIfAborted();
      waits.push(ms);
    },
  };
  return { options: { clock, random: () => 1, retries: DEFAULT_RETRIES, ...more }, waits };
}

async function failure(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => assert.unreachable('it did not reject') as never,
    (error: Error) => error,
  );
}

async function collect<T>(stream: AsyncIterable<T>, into: T[] = []): Promise<T[]> {
  for await (const value of stream) into.push(value);
  return into;
}

const full = (): AanaError => new AanaError('DeploymentFull', 'unavailable', 'full');
const isRetried = ({ name }: AanaError): boolean => name === 'DeploymentFull';

Retry('runs a call again when its replica was lost, with the number of the try', async () => {
  const { options: given, waits } = options();
  const tries: number[] = [];
  const result = await callWithRetry(async (number) => {
    tries.push(number);
    if (number < 2) throw lost();
    return 'done';
  }, given);
  assert.equal([result, tries, waits], ['done', [1, 2], [200]]);
});

Retry('runs a call only once more when replicas are lost, because it may be the cause', async () => {
  const { options: given, waits } = options({ retries: 10 });
  assert.is((await failure(callWithRetry(() => Promise.reject(lost()), given))).name, 'ReplicaLostError');
  assert.is(waits.length, 1);
});

Retry('waits a random time up to a bound that doubles up to 2 s', async () => {
  const { options: given, waits } = options({ retries: 6, random: () => 0.5, isRetried });
  await failure(callWithRetry(() => Promise.reject(full()), given));
  assert.equal(waits, [100, 200, 400, 800, 1000, 1000]);
});

Retry('gives up with the last error after all retries', async () => {
  const { options: given } = options({ isRetried });
  let tries = 0;
  const error = await failure(
    callWithRetry(() => Promise.reject(new AanaError('DeploymentFull', 'unavailable', `full ${(tries += 1)}`)), given),
  );
  assert.is(error.message, `full ${DEFAULT_RETRIES + 1}`);
});

Retry('moves a call to another replica each time its replica is ended on purpose', async () => {
  const { options: given, waits } = options({ retries: 1 });
  const moved = (): AanaError =>
    replicaLost({ deployment: 'asr', replica: 'asr#1', signal: null, how: 'it was told to stop', planned: true });
  const errors = [moved(), moved(), lost(), moved()];
  const call = async (): Promise<string> => {
    const error = errors.shift();
    if (error) throw error;
    return 'done';
  };
  assert.equal([await callWithRetry(call, given), waits.length], ['done', 4]);
  errors.push(lost(), moved(), lost());
  assert.is((await failure(callWithRetry(call, given))).message, 'lost');
  errors.splice(0, errors.length, moved());
  assert.is((await failure(callWithRetry(call, options({ retries: 0 }).options))).name, 'ReplicaLostError');
});

for (const name of ['DeploymentFull', 'PromptTooLongException', 'InferenceException', 'FailedDeployment']) {
  Retry(`does not repeat a call that failed with ${name}`, async () => {
    const { options: given, waits } = options();
    assert.is(
      (await failure(callWithRetry(() => Promise.reject(new AanaError(name, 'unavailable', '')), given))).name,
      name,
    );
    assert.equal(waits, []);
  });
}

Retry('retries the errors that the caller names, after the waits that the caller sets', async () => {
  const { options: given, waits } = options({ retries: 4, delayMs: 10, maxDelayMs: 30, isRetried });
  const errors = [full(), lost(), full()];
  const admitted: boolean[] = [];
  const result = await callWithRetry(async (_attempt, wasAdmitted) => {
    admitted.push(wasAdmitted);
    const error = errors.shift();
    if (error) throw error;
    return 'done';
  }, given);
  assert.equal([result, waits], ['done', [10, 20, 30]]);
  assert.equal(admitted, [false, false, true, false], 'what was refused for want of room was not admitted');
});

Retry('stops waiting when the caller goes away', async () => {
  const reason = new Error('client went away');
  const controller = new AbortController();
  const { options: given } = options({ signal: controller.signal });
  const error = await failure(
    callWithRetry(() => {
      controller.abort(reason);
      return Promise.reject(lost());
    }, given),
  );
  assert.is(error, reason);
});

Retry('runs a stream again when its replica was lost before the first value', async () => {
  const { options: given } = options();
  const stream = streamWithRetry(async function* (number) {
    if (number === 1) throw lost();
    yield number;
    yield number;
  }, given);
  assert.equal(await collect(stream), [2, 2]);
});

Retry('never repeats a stream that produced a value', async () => {
  const { options: given, waits } = options();
  const values: number[] = [];
  const stream = streamWithRetry(async function* (number) {
    yield number;
    throw lost();
  }, given);
  assert.is((await failure(collect(stream, values))).name, 'ReplicaLostError');
  assert.equal([values, waits], [[1], []]);
});

Retry('ends the stream of a reader who leaves', async () => {
  let isClosed = false;
  const stream = streamWithRetry(async function* () {
    try {
      yield 1;
      yield 2;
    } finally {
      isClosed = true;
    }
  }, options().options);
  for await (const _ of stream) break;
  assert.ok(isClosed);
});

Retry.run();
