// Runs of guests in a process of the sandbox: the real program with real components.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import { deferred } from '../../../base/core/deferred.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import type { CborValue } from './cbor.ts';
import type { SandboxProcess } from './sandbox-process.ts';
import {
  answerOf,
  begin,
  go,
  looping,
  processLimits,
  runLimits,
  serveFile,
  serveWat,
  waiting,
} from './fixtures/serve-component.ts';
import { buildTestPlugin } from '../fixtures/build-test-plugin.ts';

const Sandbox = suite('the sandbox of plugins');
const long = 'more than ten characters';

Sandbox('a guest answers, each run in a fresh instance', async () => {
  await using process = await serveWat({
    declarations: '(global $runs (mut i32) (i32.const 0))',
    go: '(global.set $runs (i32.add (global.get $runs) (i32.const 1))) (global.get $runs)',
  });
  for (let i = 0; i < 3; i++) assert.equal(answerOf(await go(process, '{}')), { ok: '1' });
  assert.is(process.running, 0);
});

Sandbox('the kernel enforces what the process says', async () => {
  await using process = await serveWat({ go: '(i32.const 7)' });
  const { noNewPrivileges, seccomp, memoryLimit } = process.facts.confinement;
  assert.equal({ noNewPrivileges, seccomp, memoryLimit }, { noNewPrivileges: true, seccomp: true, memoryLimit: true });
  assert.is(Number(await readFile(`/proc/${process.pid}/oom_score_adj`, 'utf8')), 500);
});

Sandbox('the host answers a call of a guest', async () => {
  await using process = await serveWat(waiting);
  const asked: unknown[] = [];
  const answer = async (name: string, args: readonly unknown[]): Promise<number> => {
    asked.push([name, args]);
    return 60_004;
  };
  assert.equal(answerOf(await go(process, '{}', { answer })), { ok: '4' });
  assert.equal(asked, [['aana:host/invocation@0.1.0#remaining-ms', []]]);
});

Sandbox('the host learns with each call for how long the guest has computed', async () => {
  const step = '(memory.fill (i32.const 65536) (i32.const 1) (i32.const 60000000))';
  await using process = await serveWat({
    ...waiting,
    go: `(drop (call $ask)) (drop (memory.grow (i32.const 950))) ${step} (drop (call $ask)) (i32.const 7)`,
  });
  const computed: number[] = [];
  const answer = (_name: string, _args: unknown, cpuMs: number): number => computed.push(cpuMs);
  const outcome = await go(process, '{}', { answer });
  assert.ok(outcome.state === 'returned');
  const [first = 0, second = 0, ...more] = computed;
  assert.ok(more.length === 0 && 0 < first && first < second, JSON.stringify(computed));
  assert.ok(outcome.state === 'returned' && second <= outcome.cpuMs, JSON.stringify([outcome, computed]));
});

Sandbox('an answer of another type ends the run, and names the function', async () => {
  await using process = await serveWat(waiting);
  for (const wrong of ['text', -1, 2n ** 64n, null, [1], { ok: 1 }, 1.5]) {
    const outcome = await go(process, '{}', { answer: () => wrong });
    assert.is(outcome.state, 'failed', String(wrong));
    assert.ok(outcome.state === 'failed' && ['answer', 'refused'].includes(outcome.code), JSON.stringify(outcome));
  }
  assert.equal(answerOf(await go(process, '{}', { answer: () => 1 })), { ok: '1' });
});

/** A guest that gets a list of bytes, and answers with the digit of its millions. */
const getting = {
  imports: '(import "aana:host/storage@0.1.0" "get" (func $get (param i32 i32 i32)))',
  go: `(drop (memory.grow (i32.const 300))) (call $get (i32.const 0) (i32.const 1) (i32.const 16))
    (i32.rem_u (i32.div_u (i32.load (i32.const 28)) (i32.const 1000000)) (i32.const 10))`,
};

Sandbox('a guest gets the pixels of the largest picture', async () => {
  await using process = await serveWat(getting, { totalBytes: 1024 * 1024 * 1024 });
  const pixels = Buffer.alloc(4_194_304 * 3);
  assert.equal(answerOf(await go(process, '{}', { answer: () => ({ ok: pixels }) })), { ok: '2' });
});

Sandbox('an answer that is too large ends the run, and the process serves on', async () => {
  await using process = await serveWat(getting);
  for (const bytes of [4_194_304 * 3 + 1, 100 * 1024 * 1024]) {
    const outcome = await go(process, '{}', { answer: () => ({ ok: Buffer.alloc(bytes) }) });
    assert.ok(outcome.state === 'failed' && ['answer', 'refused'].includes(outcome.code), JSON.stringify(outcome));
  }
  assert.equal(answerOf(await go(process, '{}', { answer: () => ({ ok: Buffer.from('abcd') }) })), { ok: '0' });
});

Sandbox('random bytes come from the process, others in each run and as many as are asked for', async () => {
  const random = (length: number, digit: string): Promise<SandboxProcess> =>
    serveWat({
      imports: '(import "aana:host/random@0.1.0" "bytes" (func $bytes (param i32 i32)))',
      go: `(call $bytes (i32.const ${length}) (i32.const 16)) ${digit}`,
    });
  await using process = await random(8, '(i32.rem_u (i32.load8_u (i32.load (i32.const 16))) (i32.const 10))');
  const runs = await Promise.all(Array.from({ length: 60 }, () => go(process, '{}')));
  assert.ok(new Set(runs.map((outcome) => JSON.stringify(answerOf(outcome)))).size > 4);
  for (const [length, unit, units] of [
    [3_000, 1_000, '3'],
    [70_000, 10_000, '6'],
  ] as const) {
    await using other = await random(length, `(i32.div_u (i32.load (i32.const 20)) (i32.const ${unit}))`);
    assert.equal(answerOf(await go(other, '{}')), { ok: units });
  }
});

Sandbox('an answer of a guest that is not UTF-8 ends its run', async () => {
  await using process = await serveWat({ go: '(i32.const 207)' });
  const outcome = await go(process, '{}');
  assert.ok(outcome.state === 'failed' && outcome.code === 'trap', JSON.stringify(outcome));
  assert.match(outcome.state === 'failed' ? outcome.reason : '', /utf-8/i);
});

Sandbox('a call that the host refuses ends the run with its message', async () => {
  await using process = await serveWat(waiting);
  const outcome = await go(process, '{}', {
    answer: () => {
      throw new Error('no such clock');
    },
  });
  assert.ok(outcome.state === 'failed' && outcome.code === 'refused', JSON.stringify(outcome));
  assert.is(outcome.state === 'failed' && outcome.reason, 'no such clock');
});

Sandbox('arguments of another type end the run before it begins', async () => {
  await using process = await serveWat({ go: '(i32.const 7)' });
  for (const args of [[], ['go'], ['go', 7], ['go', '{}', '{}'], [null, null]]) {
    const outcome = await process.run({ export: 'run', args, limits: runLimits, answer: () => null }).outcome;
    assert.ok(outcome.state === 'failed' && outcome.code === 'input', JSON.stringify(outcome));
  }
});

Sandbox('runs that are shorter than a slice end in the order in which they began', async () => {
  const loop =
    '(loop $l (local.set $n (i32.add (local.get $n) (i32.const 1))) ' +
    '(br_if $l (i32.lt_u (local.get $n) (i32.const 20000))))';
  await using process = await serveWat({ go: `(local $n i32) ${loop} (i32.const 7)` }, { slots: 300 });
  const ended: number[] = [];
  await Promise.all(Array.from({ length: 300 }, (_, n) => go(process, '{}').then(() => ended.push(n))));
  const behind = ended.filter((n, at) => at > 0 && n < ended[at - 1]!);
  assert.equal(behind, [], 'a tick of the clock of all runs has put them behind others');
});

Sandbox('a trap ends its run only', async () => {
  await using process = await serveWat({
    go: '(if (i32.gt_u (local.get $length) (i32.const 10)) (then unreachable)) (i32.const 7)',
  });
  const [bad, good] = await Promise.all([go(process, long), go(process, '{}')]);
  assert.ok(bad.state === 'failed' && bad.code === 'trap', JSON.stringify(bad));
  assert.match(bad.state === 'failed' ? bad.reason : '', /unreachable/);
  assert.equal(answerOf(good), { ok: '7' });
});

Sandbox('a loop is cancelled, and others run beside it', async () => {
  await using process = await serveWat(looping);
  const leave = new AbortController();
  const loops = [1, 2, 3].map(() => go(process, long, { signal: leave.signal }));
  for (let i = 0; i < 5; i++) assert.equal(answerOf(await go(process, '{}')), { ok: '7' });
  leave.abort();
  for (const outcome of await Promise.all(loops)) assert.ok(outcome.state === 'stopped' && outcome.cpuMs > 0);
  assert.equal(answerOf(await go(process, '{}')), { ok: '7' });
});

Sandbox('a run that waits for the host is cancelled, and late answers are ignored', async () => {
  await using process = await serveWat(waiting);
  const answers = Array.from({ length: 5 }, () => deferred<CborValue>());
  const asked = deferred();
  const leave = new AbortController();
  let calls = 0;
  const answer = (): Promise<CborValue> => {
    if (++calls === answers.length) asked.resolve();
    return answers[calls - 1]!.promise;
  };
  const runs = answers.map(() => go(process, '{}', { answer, signal: leave.signal }));
  await asked.promise;
  leave.abort();
  for (const { resolve } of answers) resolve(1);
  for (const outcome of await Promise.all(runs)) assert.is(outcome.state, 'stopped');
  assert.equal(answerOf(await go(process, '{}', { answer: () => 3 })), { ok: '3' });
});

Sandbox('a run that has aborted before it begins is stopped', async () => {
  await using process = await serveWat(looping);
  assert.equal(await go(process, long, { signal: AbortSignal.abort() }), { state: 'stopped', cpuMs: 0 });
  assert.equal(answerOf(await go(process, '{}')), { ok: '7' });
});

Sandbox('a loop is interrupted after a long step of which nobody saw the time', async () => {
  // Each of the steps fills all memory, and none of them is interrupted.
  const step = '(memory.fill (i32.const 65536) (i32.const 1) (i32.const 60000000))';
  await using process = await serveWat({
    go: `(drop (memory.grow (i32.const 950))) ${step.repeat(20)} (loop $l (br $l)) (i32.const 7)`,
  });
  const outcome = await go(process, '{}', { limits: { cpuMs: 2_000 } });
  assert.ok(outcome.state === 'failed' && outcome.code === 'cpu', JSON.stringify(outcome));
});

Sandbox('a process does not end by a signal that also ends the host', async () => {
  await using process_ = await serveWat(waiting);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const answer = (): CborValue => {
      process.kill(process_.pid!, signal);
      return 7;
    };
    assert.equal(answerOf(await go(process_, '{}', { answer })), { ok: '7' });
  }
});

Sandbox('a guest with more values than a frame may have ends its run only', async () => {
  // Headers without names and values.
  await using process = await serveWat({
    imports: '(import "aana:host/http@0.1.0" "fetch" (func $fetch (param i32 i32 i32 i32 i32 i32 i32 i32 i32)))',
    go: `(drop (memory.grow (i32.const 200)))
      (call $fetch (i32.const 0) (i32.const 1024) (i32.const 4) (i32.const 1048576) (i32.const 600000) (i32.const 0)
        (i32.const 0) (i32.const 0) (i32.const 16)) (i32.const 7)`,
  });
  const outcome = await go(process, '{}');
  assert.ok(outcome.state === 'failed' && outcome.code === 'trap', JSON.stringify(outcome));
  assert.match(outcome.state === 'failed' ? outcome.reason : '', /more than 1048576 values/);
  assert.is(process.running, 0);
  const again = await go(process, '{}');
  assert.is(again.state, 'failed');
});

Sandbox('computing is limited in all, and between two calls', async () => {
  await using process = await serveWat(looping);
  const inAll = await go(process, long, { limits: { cpuMs: 30 } });
  assert.ok(inAll.state === 'failed' && inAll.code === 'cpu', JSON.stringify(inAll));
  const stretch = await go(process, long, { limits: { stretchMs: 30 } });
  assert.ok(stretch.state === 'failed' && stretch.code === 'stretch', JSON.stringify(stretch));
});

Sandbox('calls of the host are limited', async () => {
  await using process = await serveWat({ ...waiting, go: '(loop $l (drop (call $ask)) (br $l)) (i32.const 7)' });
  let calls = 0;
  const outcome = await go(process, '{}', { answer: () => ++calls, limits: { hostCalls: 20 } });
  assert.ok(outcome.state === 'failed' && outcome.code === 'calls', JSON.stringify(outcome));
  assert.is(calls, 20);
});

Sandbox('a thousand runs wait in one thread', async () => {
  await using process = await serveWat(waiting, { slots: 1000, warmSlots: 8 });
  const answers: (() => void)[] = [];
  const all = deferred();
  const runs = Array.from({ length: 1000 }, (_, n) => {
    const answer = (): Promise<CborValue> =>
      new Promise((resolve) => {
        if (answers.push(() => resolve(n)) === 1000) all.resolve();
      });
    return go(process, '{}', { answer });
  });
  await all.promise;
  const refused = await go(process, '{}');
  assert.ok(refused.state === 'failed' && refused.code === 'busy', JSON.stringify(refused));
  for (const answer of answers) answer();
  const outcomes = await Promise.all(runs);
  assert.equal(outcomes.map((outcome) => (answerOf(outcome) as { ok: string }).ok).join(''), '0123456789'.repeat(100));
});

Sandbox('runs that arrive together and wait for nothing need few places', async () => {
  await using process = await serveWat({ go: '(i32.const 7)' }, { slots: 8, warmSlots: 8 });
  const outcomes = await Promise.all(Array.from({ length: 200 }, () => go(process, '{}')));
  assert.equal(
    outcomes.filter(({ state }) => state !== 'returned'),
    [],
  );
});

Sandbox(
  'a process without runs gives the memory of guests back, and the next guests find theirs as it was',
  async () => {
    // The first letter in the memory, which it then fills.
    const go_ = `(local $first i32) (local.set $first (i32.rem_u (i32.load8_u (i32.const 1024)) (i32.const 10)))
    (memory.fill (i32.const 1024) (i32.const 1) (i32.const 500000)) (drop (call $ask)) (local.get $first)`;
    await using process = await serveWat({ ...waiting, go: go_ });
    const privateKb = async (): Promise<number> =>
      Number(/^Private_Dirty: +(\d+) kB$/m.exec(await readFile(`/proc/${process.pid}/smaps_rollup`, 'utf8'))![1]);
    const runs = async (): Promise<void> => {
      const all = deferred();
      let asked = 0;
      const answer = async (): Promise<number> => {
        if (++asked === processLimits.warmSlots) all.resolve();
        await all.promise;
        return 1;
      };
      const outcomes = Array.from({ length: processLimits.warmSlots }, () => go(process, '{}', { answer }));
      for (const outcome of await Promise.all(outcomes)) assert.equal(answerOf(outcome), { ok: '3' });
    };
    await runs();
    const after = await privateKb();
    assert.ok(after > 0.4 * 1024 * processLimits.warmSlots, `it kept only ${after} KiB`);
    const until = Date.now() + 30_000;
    while ((await privateKb()) > after - 0.4 * 1024 * processLimits.warmSlots) {
      assert.ok(Date.now() < until, `it still has ${await privateKb()} KiB of ${after}`);
      await delay(50);
    }
    await runs();
  },
);

Sandbox('runs are spread over threads', async () => {
  await using process = await serveWat(waiting, { threads: 3 });
  const outcomes = await Promise.all(Array.from({ length: 30 }, () => go(process, '{}', { answer: () => 5 })));
  assert.ok(outcomes.every((outcome) => (answerOf(outcome) as { ok: string }).ok === '5'));
});

/** A guest that sends 200 chunks of 1000 bytes, and answers with 7. */
const streaming = {
  imports: '(import "aana:host/output@0.1.0" "write" (func $write (param i32 i32 i32)))',
  go: `(local $n i32) (memory.fill (i32.const 8192) (i32.const 97) (i32.const 1000))
    (loop $l (call $write (i32.const 8192) (i32.const 1000) (i32.const 16))
      (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if $l (i32.lt_u (local.get $n) (i32.const 200))))
    (i32.const 7)`,
};

Sandbox('output reaches its reader in order, and a guest waits for a slow one', async () => {
  await using process = await serveWat(streaming);
  const half = deferred();
  const goOn = deferred();
  let chunks = 0;
  const onOutput = async ([text]: readonly unknown[]): Promise<void> => {
    assert.is(String(text).length, 1000);
    if (++chunks === 100) half.resolve();
    if (chunks >= 100) await goOn.promise;
  };
  const run = begin(process, '{}', { onOutput, limits: { creditBytes: 10_000 } });
  await half.promise;
  // What is under way is at most the limit and a chunk, so half of the stream cannot have been sent.
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  assert.not(run.isOver, 'the guest did not wait');
  goOn.resolve();
  assert.equal([answerOf(await run.outcome), chunks], [{ ok: '7' }, 200]);
});

Sandbox('a run that does not stream gets the answer of the host to its output', async () => {
  await using process = await serveWat({
    imports: '(import "aana:host/output@0.1.0" "write" (func $write (param i32 i32 i32)))',
    go: `(call $write (i32.const 8192) (i32.const 1) (i32.const 16)) (i32.load8_u (i32.const 16))`,
  });
  const limits = { outputBytes: 0 };
  const asked: string[] = [];
  for (const [answer, code] of [
    [{ ok: undefined }, '0'],
    [{ err: { name: 'InvalidOutput', kind: 'invalid-input', message: 'it does not stream', data: '{}' } }, '1'],
  ] as const) {
    const outcome = await go(process, '{}', { limits, answer: (name) => (asked.push(name), answer) });
    assert.equal(answerOf(outcome), { ok: code });
  }
  assert.equal(asked, ['aana:host/output@0.1.0#write', 'aana:host/output@0.1.0#write']);
});

Sandbox('a guest waits until the host has handled its lines of the log', async () => {
  await using process = await serveWat({
    imports: '(import "aana:host/progress@0.1.0" "report" (func $report (param f64 i32 i32)))',
    go: `(local $n i32) (loop $l (call $report (f64.const 0.5) (i32.const 8192) (i32.const 1000))
      (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if $l (i32.lt_u (local.get $n) (i32.const 200))))
      (i32.const 7)`,
  });
  let told = 0;
  const outcome = await go(process, '{}', { onTold: () => told++, limits: { creditBytes: 3_000 } });
  assert.equal([answerOf(outcome), told], [{ ok: '7' }, 200]);
});

Sandbox('a guest without readers waits until it is cancelled', async () => {
  await using process = await serveWat(streaming);
  const onOutput = (): Promise<void> => new Promise(() => {});
  const run = begin(process, '{}', { onOutput, limits: { creditBytes: 2000 }, signal: AbortSignal.timeout(100) });
  assert.is((await run.outcome).state, 'stopped');
});

Sandbox(
  'a guest that is cancelled while it waits for a reader learns it, and its log waits for the reader',
  async () => {
    // It streams until an output has an error, writes a line of the log, and ends.
    await using process = await serveWat({
      imports: `(import "aana:host/output@0.1.0" "write" (func $write (param i32 i32 i32)))
      (import "aana:host/progress@0.1.0" "report" (func $report (param f64 i32 i32)))`,
      go: `(if (i32.le_u (local.get $length) (i32.const 10)) (then (return (i32.const 7))))
      (loop $l (call $write (i32.const 8192) (i32.const 1000) (i32.const 16))
        (br_if $l (i32.eqz (i32.load8_u (i32.const 16)))))
      (call $report (f64.const 0.5) (i32.const 8192) (i32.const 1000)) (i32.const 3)`,
    });
    const err = { name: 'Cancelled', kind: 'cancelled', message: 'it is cancelled', data: '{}' };
    for (const isTaken of [true, false]) {
      const leave = deferred();
      let chunks = 0;
      let told = 0;
      const asked = deferred();
      const run = begin(process, long, {
        limits: { creditBytes: 3_000 },
        onOutput: () => (++chunks === 3 && setImmediate(() => run.warn()), leave.promise),
        onTold: () => told++,
        answer: () => (asked.resolve(), { err }),
      });
      await asked.promise;
      assert.equal(answerOf(await go(process, '{}')), { ok: '7' });
      assert.equal([run.isOver, chunks, told], [false, 3, 0]);
      if (isTaken) leave.resolve();
      else run.cancel();
      const outcome = await run.outcome;
      if (isTaken) assert.equal([answerOf(outcome), told], [{ ok: '3' }, 1]);
      else assert.is(outcome.state, 'stopped');
    }
    assert.equal(answerOf(await go(process, '{}')), { ok: '7' });
  },
);

Sandbox('a guest that streams may compute between any two outputs', async () => {
  const step = '(memory.fill (i32.const 65536) (i32.const 1) (i32.const 60000000))';
  await using process = await serveWat({
    imports: '(import "aana:host/output@0.1.0" "write" (func $write (param i32 i32 i32)))',
    go: `(local $n i32) (drop (memory.grow (i32.const 950)))
      (loop $l ${step} (call $write (i32.const 8192) (i32.const 1) (i32.const 16))
        (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if $l (i32.lt_u (local.get $n) (i32.const 100))))
      (i32.const 7)`,
  });
  const outcome = await go(process, '{}', { limits: { stretchMs: 100 } });
  assert.equal(answerOf(outcome), { ok: '7' });
  assert.ok(outcome.state === 'returned' && outcome.cpuMs > 100, JSON.stringify(outcome));
});

Sandbox('a plugin in TypeScript runs, with resources, typed records and log lines', async () => {
  const { component } = await buildTestPlugin(join(packageRoot, 'plugins', 'video-transcribe'));
  await using process = await serveFile(component);
  const described = await process.run({ export: 'describe', args: [], limits: runLimits, answer: () => null }).outcome;
  const [info] = answerOf(described) as { name: string; path: string; streaming: boolean }[];
  assert.is(info?.name, 'transcribe_video');

  const asked: string[] = [];
  const told: string[] = [];
  const dropped: string[] = [];
  const language = { language: 'en', language_confidence: 0.9 };
  const part = JSON.stringify({ text: ' hi', segments: [], info: language, transcription_info: language });
  const answers: Record<string, (args: readonly unknown[]) => unknown> = {
    '[static]video.open': () => ({ ok: 5 }),
    '[method]video.extract-audio': () => ({ ok: 6 }),
    '[method]video.info': () => ({ duration: 2.5, hasAudio: true, hasVideo: true }),
    '[method]audio.duration': () => 2.5,
    open: () => ({ ok: 7 }),
    '[method]chunks.next': () => ({ ok: asked.filter((name) => name.endsWith('next')).length === 1 ? [part] : [] }),
    '[method]chunks.returned': () => ({ ok: '' }),
    call: () => ({ ok: part }),
    'remaining-ms': () => 60_000,
    'is-cancelled': () => false,
  };
  const outcome = await process.run({
    export: 'run',
    args: ['transcribe_video', JSON.stringify({ video: { url: 'http://example.com/a.mp4', media_id: 'm' } })],
    limits: runLimits,
    answer: (name, args) => {
      asked.push(name);
      return answers[name.split('#')[1]!]!(args);
    },
    onTold: (name) => told.push(name),
    onDropped: (type) => dropped.push(type),
  }).outcome;
  assert.match(JSON.stringify(answerOf(outcome)), /hi/);
  assert.ok(asked.some((name) => name.endsWith('video.open')));
  assert.ok(dropped.every((type) => type.startsWith('aana:host/')));
});

Sandbox.run();
