import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fail } from '../errors.ts';
import { deferred } from '../deferred.ts';
import { RepeatedWork } from './repeated-work.ts';

const Repeated = suite('repeated work');

Repeated('tells each failure, runs again, and is silent about a shutdown', async () => {
  const failures = [new Error('disk full'), fail('ShuttingDown', 'the application is shutting down'), 'text'];
  const told: unknown[] = [];
  const ended = deferred();
  let runs = 0;
  const work = new RepeatedWork({
    everyMs: 1,
    work: () => {
      const failure = failures[runs++];
      if (failure !== undefined) return Promise.reject(failure);
      ended.resolve();
      return Promise.resolve();
    },
    onError: (error) => told.push(error),
  });
  work.start();
  await ended.promise;
  await work.stop();
  assert.equal(told, [failures[0], 'text']);
});

Repeated('stop() aborts the signal of a run, and waits for its end', async () => {
  const begun = deferred();
  let hasEnded = false;
  const work = new RepeatedWork({
    everyMs: 1,
    work: async (signal) => {
      begun.resolve();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      await new Promise((resolve) => setImmediate(resolve));
      hasEnded = true;
    },
    onError: () => assert.unreachable(),
  });
  work.start();
  await begun.promise;
  await work.stop();
  assert.ok(hasEnded);
});

Repeated.run();
