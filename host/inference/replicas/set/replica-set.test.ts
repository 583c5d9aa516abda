// Real replica processes that run `fixtures/sample.ts`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { getPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { launcherPath } from '../../../base/processes/index.ts';
import type { CallProgress } from '../calls/replica-calls.ts';
import { skip } from '../../../test/skip.ts';
import { collect, isAlive, pidOf, recordingLogger, setOf, started, stopAll, until } from '../fixtures/sample-sets.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';

const Set_ = suite('a set of replicas');

Set_.after.each(stopAll);

Set_('carries arguments and results, many calls at a time', async () => {
  const set = await started();
  const calls = Array.from({ length: 20 }, (_, n) =>
    set.call('echo', { n, text: 'grüße 🙂', nested: [null, { deep: true }] }),
  );
  assert.equal(
    await Promise.all(calls),
    Array.from({ length: 20 }, (_, n) => ({ n, text: 'grüße 🙂', nested: [null, { deep: true }] })),
  );
});

Set_('carries an error of the implementation with its class, kind and data', async () => {
  const error = await errorOf((await started()).call('fail', {}));
  assert.equal(
    [error.name, error.kind, error.message, error.data],
    ['PromptTooLongException', 'bad-request', 'too long', { prompt_len: 9, max_len: 8 }],
  );
});

Set_('turns an unexpected exception of the implementation into an internal error', async () => {
  const set = await started();
  const error = await errorOf(set.call('failUnknown', {}));
  assert.equal([error.name, error.kind], ['TypeError', 'internal']);
  assert.equal(await set.call('echo', {}), {});
});

Set_('carries the progress of a call to the caller who asks for it, once for each percent', async () => {
  const set = await started();
  const reports: CallProgress[] = [];
  const args = { fractions: [0, 0.001, 0.25, 0.2, 0.255, null, 0.5, -1, 7] };
  assert.is(await set.call('report', args, { onProgress: (report) => void reports.push(report) }), true);
  assert.equal(
    reports,
    [0, 0.25, 0.5].map((fraction) => ({ stage: 'running', fraction, text: '' })),
  );
  assert.is(await set.call('report', args), false);
});

Set_('names an unknown method', async () => {
  const set = await started();
  assert.match((await errorOf(set.call('constructor', {}))).message, 'there is no method constructor');
});

Set_('streams all values in order, in batches', async () => {
  assert.equal(
    await collect((await started()).stream('count', { to: 1000 })),
    Array.from({ length: 1000 }, (_, n) => n),
  );
});

Set_('delivers the values before an error, then the error', async () => {
  const set = await started();
  const values: unknown[] = [];
  const error = await errorOf(
    (async () => {
      for await (const batch of set.stream('countThenFail', { to: 5 })) values.push(...batch);
    })(),
  );
  assert.equal([values, error.name], [[0, 1, 2, 3, 4], 'InferenceException']);
});

Set_('lets a slow reader pause its own stream only', async () => {
  const set = await started();
  const slow = set.stream('count', { to: 1_000_000 })[Symbol.asyncIterator]();
  await slow.next();
  assert.is((await collect(set.stream('count', { to: 500 }))).length, 500);
  const made = Number(await set.call('made', {}));
  assert.ok(made < 1000, `${made} values were made although only one batch was read`);
  await slow.return?.(undefined);
});

Set_('ends the replica’s work when the reader leaves a stream', async () => {
  const { log, lines } = recordingLogger();
  const set = await started({ log });
  for await (const _ of set.stream('count', { to: 1_000_000, everyMs: 1 })) break;
  await until(() => set.status().replicas[0]?.ongoing === 0, 'the replica let go of the stream');
  assert.not.ok(lines.some(({ level }) => level === 'error' || level === 'warn'));
});

Set_('rejects a cancelled call with the reason of its signal, and tells the replica', async () => {
  const { log, lines } = recordingLogger();
  const set = await started({ log });
  const controller = new AbortController();
  const reason = new Error('client went away');
  const call = set.call('untilCancelled', {}, { signal: controller.signal }).catch((error: unknown) => error);
  await set.call('echo', {});
  controller.abort(reason);
  assert.is(await call, reason);
  await until(() => lines.some(({ message }) => message === 'sample was cancelled'), 'the replica was told');
  await until(() => set.status().replicas[0]?.ongoing === 0, 'the replica let go of the call');
});

Set_('ends a cancelled stream with the reason of its signal', async () => {
  const set = await started();
  const controller = new AbortController();
  const reason = new Error('client went away');
  const error = await (async () => {
    for await (const _ of set.stream('count', { to: 1_000_000, everyMs: 1 }, { signal: controller.signal }))
      controller.abort(reason);
  })().catch((thrown: unknown) => thrown);
  assert.is(error, reason);
});

Set_('does not start a call whose signal has aborted', async () => {
  const set = await started();
  const reason = new Error('too late');
  assert.is(await set.call('echo', {}, { signal: AbortSignal.abort(reason) }).catch((error: unknown) => error), reason);
});

Set_('counts a cancelled call until the replica has ended it', async () => {
  const set = await started({ maxOngoing: 1 });
  const controller = new AbortController();
  const call = set.call('ignoreCancel', { ms: 2000 }, { signal: controller.signal }).catch(() => 'cancelled');
  await until(() => set.status().replicas[0]?.ongoing === 1, 'the call runs');
  controller.abort();
  assert.is(await call, 'cancelled');
  assert.is(set.status().replicas[0]?.ongoing, 1);
  assert.equal(await set.call('echo', {}), {});
});

Set_('refuses calls over the limit of waiting calls', async () => {
  const set = await started({ maxOngoing: 1, maxQueued: 1 });
  const [one, two] = [set.call('wait', { ms: 100 }), set.call('wait', { ms: 1 })];
  const error = await errorOf(set.call('echo', {}));
  assert.equal([error.name, error.kind], ['DeploymentFull', 'unavailable']);
  assert.equal(await Promise.all([one, two]), [100, 1]);
});

Set_('fails a result that is too large for a frame, and keeps serving', async () => {
  const set = await started();
  const error = await errorOf(set.call('large', { bytes: 65 * 1024 * 1024 }));
  assert.equal([error.name, error.kind], ['MessageTooLarge', 'too-large']);
  assert.equal(await set.call('echo', {}), {});
});

Set_('fails the calls of a killed replica with a clear error; the next call waits for the new one', async () => {
  const set = await started({ restartDelay: () => 300 });
  const pid = pidOf(set);
  const lost = errorOf(set.call('wait', { ms: 60_000 }));
  await set.call('echo', {});
  process.kill(pid, 'SIGKILL');
  const error = await lost;
  assert.equal([error.name, error.kind], ['ReplicaLostError', 'unavailable']);
  assert.equal(error.data, { deployment: 'sample', replica: 'sample#1', signal: 'SIGKILL', planned: false });
  assert.match(error.message, 'SIGKILL');
  const next = Number(await set.call('pid', {}));
  assert.is.not(next, pid);
  assert.is(set.status().replicas[0]?.restarts, 1);
  assert.is(set.status().status, 'RUNNING');
});

Set_('removes a dead replica from the pool before its calls fail', async () => {
  const set = await started({ count: 2 });
  const crashed = errorOf(set.call('crash', {})).then(() => set.call('pid', {}));
  assert.ok(isAlive(Number(await crashed)));
});

Set_('delivers the values that a dying replica had streamed, then the loss', async () => {
  const set = await started();
  const values: unknown[] = [];
  const error = await errorOf(
    (async () => {
      for await (const batch of set.stream('countThenCrash', { to: 5 })) values.push(...batch);
    })(),
  );
  assert.equal([values, error.name], [[0, 1, 2, 3, 4], 'ReplicaLostError']);
});

Set_('logs the error of a replica that throws outside of a call', async () => {
  const { log, lines } = recordingLogger();
  const set = await started({ log });
  assert.is((await errorOf(set.call('throwLater', {}))).name, 'ReplicaLostError');
  await until(() => lines.some(({ message }) => message === 'replica lost, restarting'), 'the loss was logged');
  assert.match(
    String(lines.find(({ message }) => message === 'replica lost, restarting')?.['reason']),
    /^it exited with code 1: Error$/,
  );
  assert.match(
    String(lines.find(({ message }) => message === 'uncaught exception')?.['content']),
    'thrown from a timer',
  );
  assert.equal(await set.call('echo', {}), {});
});

Set_('fails at once with the message of an implementation that refuses to start', async () => {
  const set = setOf({ spec: { start: 'reject' } });
  const error = await errorOf(set.start());
  assert.equal(
    [error.name, error.message],
    ['FailedDeployment', 'deployment sample failed: the file model.bin is truncated'],
  );
  assert.is(set.status().status, 'DEPLOY_FAILED');
  assert.is(set.status().replicas[0]?.restarts, 0);
  assert.is((await errorOf(set.call('echo', {}))).kind, 'unavailable');
});

Set_('is not ready before the warm-up has succeeded', async () => {
  const error = await errorOf(setOf({ spec: { start: 'cold' } }).start());
  assert.is(error.message, 'deployment sample failed: no kernel image is available for this device');
});

Set_('gives up a replica that ends three times before it is ready, and keeps its last line', async () => {
  const set = setOf({ spec: { start: 'exit' } });
  const error = await errorOf(set.start());
  assert.match(error.message, 'it ended 3 times before it was ready');
  assert.match(error.message, 'it exited with code 7: sample: out of memory');
  assert.is(set.status().replicas[0]?.restarts, 2);
  assert.match(set.status().message, 'out of memory');
  assert.ok(set.status().lastLines.includes('sample: out of memory'));
});

Set_('keeps the reason when loading throws from a timer', async () => {
  assert.match((await errorOf(setOf({ spec: { start: 'throw-later' } }).start())).message, 'thrown from a timer');
});

for (const [what, module, pattern] of [
  ['is not there', './fixtures/absent.js', 'absent.js'],
  ['exports no start', '../fixtures/no-start.js', 'exports no function "start"'],
] as const) {
  Set_(`fails when the implementation ${what}`, async () => {
    assert.match((await errorOf(setOf({ implementation: new URL(module, import.meta.url) }).start())).message, pattern);
  });
}

Set_('ends a replica that writes garbage to its socket', async () => {
  assert.match(
    (await errorOf(setOf({ implementation: new URL('../fixtures/garbage.js', import.meta.url) }).start())).message,
    /a frame of (unknown type|\d+ bytes)/,
  );
});

Set_('gives up a replica that never finishes loading', async () => {
  assert.match(
    (await errorOf(setOf({ spec: { start: 'hang' }, startTimeoutMs: 400 }).start())).message,
    'it was not ready after 0.4 s without progress',
  );
});

Set_('lets the warm-up take long while the engine makes progress', async () => {
  const set = await started({ spec: { start: 'slow-warm-up' }, startTimeoutMs: 5000 }); // it takes 8 s
  assert.equal(await set.call('echo', {}), {});
});

Set_('passes on progress', async () => {
  const fractions: (number | undefined)[] = [];
  await started({ spec: { start: 'slow' }, onProgress: ({ fraction }) => fractions.push(fraction) });
  assert.equal(fractions, [0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875]);
});

Set_('stops all replicas when its start is cancelled', async () => {
  const controller = new AbortController();
  const reason = new Error('interrupted');
  const set = setOf({ spec: { start: 'hang' }, count: 2 });
  const start = set.start(controller.signal).catch((error: unknown) => error);
  const pids = [pidOf(set, 0), pidOf(set, 1)];
  controller.abort(reason);
  assert.is(await start, reason);
  assert.not.ok(pids.some(isAlive));
});

/** Timeout of twenty checks, because an answer may take long on a busy machine. */
const IMPATIENT = { healthPeriodMs: 100, healthTimeoutMs: 2000 };

Set_('replaces a replica that does not answer health checks', async () => {
  const set = await started(IMPATIENT);
  const pid = pidOf(set);
  const error = await errorOf(set.call('block', { ms: 60_000 }));
  assert.match(error.message, 'it did not answer health checks for 2 s');
  assert.is.not(await set.call('pid', {}), pid);
});

Set_('replaces a replica whose engine hangs although its event loop answers', async () => {
  const set = await started(IMPATIENT);
  const pid = pidOf(set);
  const error = await errorOf(set.call('hang', {}));
  assert.equal([error.name, error.kind], ['ReplicaLostError', 'unavailable']);
  assert.match(error.message, 'its engine has work but made no progress for 2 s');
  assert.is.not(await set.call('pid', {}), pid);
});

Set_('keeps a replica that works for long on one step, or waits for its reader', async () => {
  const sets = await Promise.all([started(IMPATIENT), started(IMPATIENT)]);
  const [working, waiting] = sets;
  assert.equal(await Promise.all([working.call('toil', { checks: 25 }), waiting.call('idle', { checks: 25 })]), [
    'done',
    'done',
  ]);
  for (const set of sets) assert.is(set.status().replicas[0]?.restarts, 0);
});

Set_('replaces a stopped replica, and gives its call to the next one', async () => {
  const set = await started(IMPATIENT);
  const pid = pidOf(set);
  process.kill(pid, 'SIGSTOP');
  assert.is.not(await set.call('pid', {}), pid);
});

Set_('gets the steps of the engine from health checks', async () => {
  const set = await started({ healthPeriodMs: 20 });
  await until(() => (set.status().replicas[0]?.steps ?? 0) > 1, 'two health checks were answered');
});

Set_('lets running and waiting calls finish when it stops, and takes no new ones', async () => {
  const set = await started({ maxOngoing: 1 });
  const pid = pidOf(set);
  const calls = [set.call('wait', { ms: 150 }), set.call('wait', { ms: 50 })];
  const stopped = set.stop(30_000);
  assert.is((await errorOf(set.call('echo', {}))).name, 'DeploymentStopped');
  assert.equal(await Promise.all(calls), [150, 50]);
  await stopped;
  assert.not.ok(isAlive(pid));
  assert.is(set.status().status, 'STOPPED');
});

Set_('fails calls that outlast the grace period', async () => {
  const set = await started();
  const call = errorOf(set.call('ignoreCancel', { ms: 60_000 }));
  await set.call('echo', {});
  await set.stop(50);
  assert.is((await call).name, 'ReplicaLostError');
  await set.stop(0); // twice is fine
});

Set_('does not restart a replica that dies while it stops', async () => {
  const set = await started();
  const pid = pidOf(set);
  void set.call('wait', { ms: 60_000 }).catch(() => {});
  const stopped = set.stop(5000);
  process.kill(pid, 'SIGKILL');
  await stopped;
  assert.is(set.status().replicas[0]?.restarts, 0);
});

Set_('gives its processes a lower priority and their own environment', async () => {
  const set = await started({ env: { ...process.env, SAMPLE_NAME: 'of the replica' } });
  assert.is(await set.call('environment', { name: 'SAMPLE_NAME' }), 'of the replica');
  assert.is(await set.call('environment', { name: 'OMP_WAIT_POLICY' }), 'passive');
  assert.match(String(await set.call('environment', { name: 'GLIBC_TUNABLES' })), /^glibc\.malloc\.hugetlb=1/);
  assert.ok(getPriority(pidOf(set)) >= 10);
});

async function orphanHost(): Promise<{ host: ReturnType<typeof spawn>; replica: number }> {
  const host = spawn(process.execPath, [fileURLToPath(new URL('../fixtures/orphan-host.js', import.meta.url))], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (!host.stdout) throw new Error('no stdout');
  const [line] = (await once(createInterface(host.stdout), 'line')) as [string];
  return { host, replica: Number(line) };
}

Set_('leaves no process behind when the host is killed', async () => {
  const { host, replica } = await orphanHost();
  assert.ok(isAlive(replica));
  host.kill('SIGKILL');
  await until(() => !isAlive(replica), 'the replica was gone');
});

const STOPPED = 'leaves no stopped process behind when the host is killed';
if (!launcherPath()) skip(STOPPED, 'the launcher is not built');
else {
  Set_(STOPPED, async () => {
    const { host, replica } = await orphanHost();
    process.kill(replica, 'SIGSTOP');
    host.kill('SIGKILL');
    await until(() => !isAlive(replica), 'the replica was gone');
  });
}

Set_.run();
