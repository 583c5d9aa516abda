// What becomes of runs when their process is killed, stopped, out of memory, or sends what is no frame.
import { spawnSync } from 'node:child_process';
import { createHash, randomInt } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import { deferred } from '../../../base/core/deferred.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import type { CborValue } from './cbor.ts';
import {
  answerOf,
  endpoint,
  go,
  looping,
  offered,
  output,
  processLimits,
  serveWat,
  waiting,
} from './fixtures/serve-component.ts';
import { frameKind, frameOf, frameWith } from './frames.ts';
import { SandboxProcess } from './sandbox-process.ts';

const Loss = suite('a sandbox that is lost');
const long = 'more than ten characters';

Loss('a killed process loses its runs with the reason, and says which had effects', async () => {
  await using process_ = await serveWat(waiting);
  const asked = deferred();
  const never = new Promise<CborValue>(() => {});
  const run = go(process_, '{}', {
    answer: () => {
      asked.resolve();
      return never;
    },
  });
  await asked.promise;
  process.kill(process_.pid!, 'SIGKILL');
  const reason = 'its process was ended by SIGKILL';
  assert.equal(await run, { state: 'lost', reason });
  assert.is(await process_.ended, 'was ended by SIGKILL');
  assert.equal(await go(process_, '{}'), { state: 'lost', reason });
});

Loss('a run without effects says so', async () => {
  await using process_ = await serveWat(looping);
  const run = go(process_, long);
  process.kill(process_.pid!, 'SIGKILL');
  assert.equal(await run, { state: 'lost', reason: 'its process was ended by SIGKILL' });
});

Loss('a stopped process is ended when it does not cancel a run, and loses the others', async () => {
  await using process_ = await serveWat(looping);
  const other = go(process_, long);
  process.kill(process_.pid!, 'SIGSTOP');
  // The kernel stops all of its threads a little later.
  for (const thread of await readdir(`/proc/${process_.pid}/task`)) {
    const status = `/proc/${process_.pid}/task/${thread}/status`;
    while (!/^State:\s+T/m.test(await readFile(status, 'utf8'))) await delay(5);
  }
  const run = await go(process_, '{}', { signal: AbortSignal.timeout(50) });
  assert.equal(run, { state: 'stopped', cpuMs: 0 });
  const reason = 'its process did not cancel a run within 5000 ms';
  assert.equal(await other, { state: 'lost', reason });
});

Loss('memory of all guests together is limited, and the process serves on or is lost with the reason', async () => {
  // Each guest takes all of the memory that one may have, and fills it.
  const filling = {
    go: `(loop $l (br_if $l (i32.gt_s (memory.grow (i32.const 16)) (i32.const 0))))
      (memory.fill (i32.const 65536) (i32.const 1)
        (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 65536)))
      (i32.div_u (memory.size) (i32.const 200))`,
  };
  await using process_ = await serveWat(filling, { memoryBytes: 64 << 20, totalBytes: 128 << 20, slots: 32 });
  assert.equal(answerOf(await go(process_, '{}')), { ok: '5' });
  const outcomes = await Promise.all(Array.from({ length: 32 }, () => go(process_, '{}')));
  const status = await readFile(`/proc/${process_.pid}/status`, 'utf8').catch(() => '');
  const peakKib = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0);
  assert.ok(peakKib < 700 * 1024, `it had ${peakKib} KiB`);
  for (const outcome of outcomes) assert.ok(['returned', 'failed', 'lost'].includes(outcome.state));
  assert.ok(
    outcomes.some((outcome) => outcome.state === 'returned'),
    JSON.stringify(outcomes[0]),
  );
});

Loss('closing a process loses its runs, and closing it twice is fine', async () => {
  const process_ = await serveWat(looping);
  const run = go(process_, long);
  await process_.close();
  await process_.close();
  assert.equal(await run, { state: 'lost', reason: 'its process was closed' });
});

Loss('a listener that throws loses the process, and not the host', async () => {
  await using process_ = await serveWat({
    imports: '(import "aana:host/progress@0.1.0" "report" (func $report (param f64 i32 i32)))',
    go: '(call $report (f64.const 0.5) (i32.const 8192) (i32.const 4)) (i32.const 7)',
  });
  const outcome = await go(process_, '{}', {
    onTold: () => {
      throw new Error('no such log');
    },
  });
  const reason = 'its process sent what the host cannot use: no such log';
  assert.equal(outcome, { state: 'lost', reason });
});

/** Starts a program in Node in place of the sandbox. `socket` is its stream to the host. */
async function standIn<T>(code: string, use: (options: Parameters<typeof SandboxProcess.start>[0]) => Promise<T>) {
  const dir = await mkdtemp(join(tmpdir(), 'aana-stand-in-'));
  try {
    const program = join(dir, 'program');
    const net = `const socket = new (require('node:net').Socket)({ fd: 4 });`;
    await writeFile(program, `#!${process.execPath}\n${net}\nsocket.resume();\n${code}\n`);
    await chmod(program, 0o755);
    const options = {
      plugin: 'test',
      code: program,
      isFast: false,
      endpoint,
      output,
      types: offered,
      limits: processLimits,
    };
    return await use({ ...options, command: { file: program, args: [] } });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** A result with a list of zeros, which the host itself would not write. */
function manyValues(count: number): Buffer {
  const list = Buffer.alloc(7 + count);
  list.set([0x82, 0x01, 0x9a]); // a list of two: 1, and a list whose length has 32 bits
  list.writeUInt32BE(count, 3);
  return frameWith(1, frameKind.returned, list);
}
/** A result with these bytes as its value. */
const resultOf = (...value: number[]): Buffer => frameWith(1, frameKind.returned, Buffer.of(0x82, 0x01, ...value));
const outputOf = (bytes: number): Buffer => frameOf(1, frameKind.output, [], ['x'.repeat(bytes)]);
/** Makes 16 bits of the 32 bits of a number in a frame, as those of functions are. */
function withShortNumber(frame: Buffer, at: number): Buffer {
  const cut = Buffer.concat([frame.subarray(0, at + 2), frame.subarray(at + 4)]);
  cut.writeUInt32LE(cut.length - 4, 0);
  return cut;
}
/** A call of function 2, which has no answer. */
const tellOf = (bytes: number): Buffer => withShortNumber(frameOf(1, frameKind.tell, [2], [0.5, 'x'.repeat(bytes)]), 9);

const ready = frameOf(0, frameKind.ready, [], {
  slots: 4,
  functions: [
    ['aana:host/invocation@0.1.0#remaining-ms', 'ask'],
    ['aana:host/output@0.1.0#write', 'output'],
    ['aana:host/progress@0.1.0#report', 'tell'],
  ],
  exports: ['describe', 'run'],
  resources: ['aana:host/media.audio'],
  confinement: { 'no-new-privileges': true, seccomp: true, landlock: 0, 'memory-limit': true },
});
const callOf = (call: number, fn: number, args: readonly CborValue[]): Buffer =>
  withShortNumber(frameOf(1, frameKind.call, [call, 7, fn], args), 17);
const inHex = (bytes: Uint8Array): string => `Buffer.from('${Buffer.from(bytes).toString('hex')}', 'hex')`;

Loss('a process that ends before it is ready refuses the plugin with what it said', async () => {
  await standIn(`process.stderr.write('no engine\\n'); process.exit(3);`, async (options) => {
    const error = await errorOf(SandboxProcess.start(options));
    assert.is(error.message, 'plugin test cannot be run: its process ended with 3: no engine');
  });
});

Loss('a process that is never ready is ended', async () => {
  await standIn('', async (options) => {
    const limits = { ...options.limits, startMs: 200 };
    const error = await errorOf(SandboxProcess.start({ ...options, limits }));
    assert.is(error.message, 'plugin test cannot be run: its process was not ready within 200 ms');
  });
});

Loss('a process that sends what is no frame is ended, and loses its runs', async () => {
  const wrong: readonly (readonly [what: string, frames: Uint8Array, reason?: string])[] = [
    ['a length that no frame has', Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0])],
    ['an unknown kind', frameOf(1, 99, [])],
    ['a frame of no run', frameOf(77, frameKind.returned, [], [1, 'x'])],
    ['an unknown function', frameOf(1, frameKind.tell, [9])],
    ['a cut call', frameOf(1, frameKind.call, [])],
    ['a call with other arguments', callOf(1, 0, ['one too many'])],
    [
      'a result with another time',
      frameOf(1, frameKind.returned, [], [Number.NaN, { ok: 'x' }]),
      'a time is not valid',
    ],
    ['a failure with another time', frameOf(1, frameKind.failed, [], [-1, 'trap', 'x']), 'a time is not valid'],
    [
      'a failure of an unknown kind',
      frameOf(1, frameKind.failed, [], [1, 'other', 'x']),
      'a run fails for an unknown reason',
    ],
    ['a call with another number', callOf(2, 0, []), 'a call is out of turn'],
    ['a second open call', Buffer.concat([callOf(1, 0, []), callOf(2, 0, [])]), 'a call is out of turn'],
    ['more values than a frame has', manyValues(2 ** 20), 'it has more than 1048576 values'],
    [
      'more output than it may',
      Buffer.concat(Array.from({ length: 4 }, () => outputOf(30_000))),
      'a run sends more than it may',
    ],
    [
      'more lines of the log than it may',
      Buffer.concat(Array.from({ length: 4 }, () => tellOf(30_000))),
      'a run sends more than it may',
    ],
    ['a result of another type', frameOf(1, frameKind.returned, [], [1, { ok: 7 }])],
    ['a result of another form', frameOf(1, frameKind.returned, [], 'x')],
    ['a result that is no CBOR', Buffer.concat([Buffer.from([6, 0, 0, 0, 1, 0, 0, 0, frameKind.returned, 0xff])])],
    ['values that are nested deep', frameWith(1, frameKind.returned, Buffer.alloc(50_000, 0x81)), 'a value is nested'],
    ['a list that is longer than its frame', resultOf(0x9a, 0xff, 0xff, 0xff, 0xff)],
    ['a text that is longer than its frame', resultOf(0x7a, 0xff, 0xff, 0xff, 0xff)],
    ['a list without an end', resultOf(0x9f, 0x01, 0xff)],
    ['a text that is no UTF-8', resultOf(0x61, 0xff)],
    ['a name that changes objects', Buffer.concat([frameOf(1, frameKind.returned, [], { 'zzproto--': 1 })])],
  ];
  for (const [what, bytes, why = '.'] of wrong)
    await standIn(
      `socket.write(${inHex(ready)}); socket.once('data', () => socket.write(${inHex(bytes)}));`,
      async (options) => {
        await using process_ = await SandboxProcess.start(options);
        const never = new Promise<CborValue>(() => {});
        const outcome = await go(process_, '{}', { answer: () => never, onOutput: () => never });
        assert.is(outcome.state, 'lost', what);
        const reason = new RegExp(`^its process sent what the host cannot use: ${why}`);
        assert.match(outcome.state === 'lost' ? outcome.reason : '', reason, what);
      },
    );
});

Loss('frames after the end of a run are not taken', async () => {
  const returned = frameOf(1, frameKind.returned, [], [1, { ok: 'x' }]);
  const frames = Buffer.concat([returned, callOf(1, 0, [])]);
  await standIn(
    `socket.write(${inHex(ready)}); socket.once('data', () => socket.write(${inHex(frames)}));`,
    async (options) => {
      await using process_ = await SandboxProcess.start(options);
      let calls = 0;
      assert.equal(answerOf(await go(process_, '{}', { answer: () => ++calls })), { ok: 'x' });
      assert.is(await process_.ended, 'sent what the host cannot use: a frame is of no run');
      assert.is(calls, 0);
    },
  );
});

Loss('what a run does after it was cancelled has no effect', async () => {
  const cancelled = frameOf(1, frameKind.failed, [], [1, 'cancelled', 'x']);
  const frames = Buffer.concat([callOf(1, 0, []), tellOf(10), outputOf(10), cancelled]);
  await standIn(
    `socket.write(${inHex(ready)});
     socket.once('data', () => {
       socket.write(${inHex(outputOf(1))});
       socket.once('data', () => socket.write(${inHex(frames)}));
     });`,
    async (options) => {
      await using process_ = await SandboxProcess.start(options);
      const leave = new AbortController();
      let effects = 0;
      let outputs = 0;
      const effect = (): number => ++effects;
      const onOutput = async (): Promise<void> => {
        outputs++;
        leave.abort();
      };
      const outcome = await go(process_, '{}', { answer: effect, onTold: effect, onOutput, signal: leave.signal });
      assert.equal(outcome, { state: 'stopped', cpuMs: 0.001 });
      assert.equal([effects, outputs], [0, 1]);
    },
  );
});

Loss('a process that sends much of many frames and ends none of them is ended', async () => {
  await standIn(
    `const head = Buffer.alloc(4);
     head.writeUInt32LE(${90 * 1024 * 1024});
     const more = [5, 6].map((fd) => new (require('node:net').Socket)({ fd }));
     for (const each of [socket, ...more]) {
       each.write(${inHex(ready)});
       socket.once('data', () => each.write(Buffer.concat([head, Buffer.alloc(89 * 1024 * 1024)])));
     }`,
    async (options) => {
      await using process_ = await SandboxProcess.start({ ...options, limits: { ...processLimits, threads: 3 } });
      // Runs are spread over the sockets, and the first one has some.
      const outcomes = await Promise.all([1, 2, 3].map(() => go(process_, '{}')));
      const reason =
        'its process sent what the host cannot use: more than 268435456 bytes of frames that are not complete';
      for (const outcome of outcomes) assert.equal(outcome, { state: 'lost', reason });
    },
  );
});

Loss('a process that closes a socket is ended', async () => {
  await standIn(
    `socket.write(${inHex(ready)}); socket.once('data', () => socket.destroy()); setInterval(() => {}, 1000);`,
    async (options) => {
      await using process_ = await SandboxProcess.start(options);
      const reason = 'its process closed a socket';
      assert.equal(await go(process_, '{}'), { state: 'lost', reason });
    },
  );
});

Loss('a process that does not read gets no further runs', async () => {
  await standIn(`socket.pause(); socket.write(${inHex(ready)}); setInterval(() => {}, 1000);`, async (options) => {
    const process_ = await SandboxProcess.start(options);
    const large = 'x'.repeat(90 * 1024 * 1024);
    const waiting = [1, 2, 3].map(() => go(process_, large));
    const refused = await go(process_, '{}');
    assert.ok(refused.state === 'failed' && refused.code === 'busy', JSON.stringify(refused));
    await process_.close();
    for (const outcome of await Promise.all(waiting)) assert.is(outcome.state, 'lost');
  });
});

Loss('nobody reads standard error without end', async () => {
  await standIn(
    // A write that waits when the other end is closed has ECONNRESET, because there are bytes that nobody has read.
    `try { for (;;) require('node:fs').writeSync(2, 'x'.repeat(65536)); }
     catch ({ code }) { if (code === 'EPIPE' || code === 'ECONNRESET') socket.write(${inHex(ready)}); }`,
    async (options) => {
      await using process_ = await SandboxProcess.start(options);
      assert.is(process_.running, 0);
    },
  );
});

Loss('a process for which there are no descriptors refuses the plugin', () => {
  const code = [
    `import { closeSync, openSync } from 'node:fs';`,
    `import { SandboxProcess } from ${JSON.stringify(new URL('sandbox-process.js', import.meta.url))};`,
    `const open = [];`,
    `try { for (;;) open.push(openSync('/dev/null')); } catch {}`,
    `for (const one of open.slice(-3)) closeSync(one);`,
    `const limits = ${JSON.stringify(processLimits)};`,
    `const command = { file: '/bin/true', args: [] };`,
    `const options = { command, plugin: 'test', code: '/dev/null', isFast: false, limits };`,
    `await SandboxProcess.start(options).catch((error) => console.log(error.message));`,
  ].join('\n');
  const run = spawnSync('sh', ['-c', 'ulimit -n 200; exec "$0" --input-type=module -e "$1"', process.execPath, code], {
    encoding: 'utf8',
  });
  assert.match(run.stdout + run.stderr, /^plugin test cannot be run: its process could not be started: .*EMFILE/);
});

Loss('no changed frame of a process ends the host', async () => {
  const seed = randomInt(2 ** 31);
  process.stdout.write(`seed ${seed}\n`);
  let state = createHash('sha256').update(String(seed)).digest();
  const random = (below: number): number => {
    state = createHash('sha256').update(state).digest();
    return state.readUInt32LE(0) % below;
  };
  const answers = [
    frameOf(1, frameKind.returned, [], [10, { ok: 'a result' }]),
    frameOf(1, frameKind.failed, [], [10, 'trap', 'a reason']),
    frameOf(1, frameKind.output, [], ['a chunk']),
    frameOf(1, frameKind.printed, [], Buffer.from('a text')),
    callOf(1, 0, []),
  ];
  const changed = Array.from({ length: 60 }, () => {
    const bytes = Buffer.concat([answers[random(answers.length)]!, answers[0]!]);
    for (let n = random(4); n >= 0; n--) bytes[random(bytes.length)] = random(256);
    return bytes;
  });
  await standIn(
    // Each process sends the next one of the frames for its first run, and then ends.
    `const all = [${changed.map(inHex).join(',')}];
     socket.write(${inHex(ready)});
     const chosen = (data) => all[Number(/"n":(\\d+)/.exec(data.toString('latin1'))[1])];
     socket.once('data', (data) => socket.end(chosen(data), () => process.exit(0)));`,
    async (options) => {
      for (let n = 0; n < changed.length; n++) {
        await using process_ = await SandboxProcess.start(options);
        const outcome = await go(process_, `{"n":${n}}`, { answer: () => 1, signal: AbortSignal.timeout(5_000) });
        assert.ok(['returned', 'failed', 'lost', 'stopped'].includes(outcome.state), `frame ${n} of seed ${seed}`);
      }
    },
  );
});

Loss.run();
