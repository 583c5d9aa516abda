import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import type { AanaError } from '../../../base/core/errors.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { watPlugin } from '../fixtures/wat-plugin.ts';
import { type LoadedPlugin, PluginHost } from '../set/plugin-host.ts';
import type { PluginInvocation } from './invocation.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';

/** Long enough that no loop is interrupted while a test runs, unless the test does it. */
const never = 600_000;
const limits = { cpuSliceMs: never, cpuMs: never, maxThreads: 1 };
/**
 * The length of its input tells the plugin what to do, after it has logged that it began: to return, to wait for the
 * host first, or to compute for ever.
 */
const inputs = { quick: '{}', wait: '{"a":1}', loop: '{"a":"bcdefg"}' } as const;

/** A plugin that logs a line whenever one of its runs begins. */
const plugin = {
  manifest: { capabilities: ['deployments'], deployments: ['model'] },
  imports: `(import "aana:host/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))
    (import "aana:host/deployments@0.1.0" "call" (func $call (param i32 i32 i32 i32 i32 i32 i32 i32 i32)))`,
  declarations:
    '(data (i32.const 2048) "began") (data (i32.const 2064) "model") (data (i32.const 2080) "wait") (data ' +
    '(i32.const 2096) "{}")',
  go: `(call $log (i32.const 1) (i32.const 2048) (i32.const 5) (i32.const 0) (i32.const 0))
    (if (i32.gt_u (local.get $length) (i32.const ${inputs.wait.length})) (then (loop $for_ever (br $for_ever))))
    (if (i32.eq (local.get $length) (i32.const ${inputs.wait.length}))
      (then (call $call (i32.const 2064) (i32.const 5) (i32.const 2080) (i32.const 4)
        (i32.const 2096) (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 128))))
    (i32.const 7)`,
};

interface Context {
  dir: string;
}

/** The plugin and its log lines during a test. */
interface Subject {
  readonly loaded: LoadedPlugin;
  readonly ports: FakePorts;
  run(what: keyof typeof inputs, requestId: string, options?: Partial<PluginInvocation>): Promise<string>;
  /** How often the request has begun. */
  begun(requestId: string): number;
  until(condition: () => boolean): Promise<void>;
}

const nameOf = (running: Promise<string>): Promise<string> => running.catch((error: AanaError) => error.name);
const numbered = (name: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${name} ${n}`);

const Neighbours = suite<Context>('neighbours of a long computation in the same plugin');
Neighbours.before.each(async (context) => {
  context.dir = await mkdtemp(join(tmpdir(), 'aana-neighbours-'));
});
Neighbours.after.each(async ({ dir }) => rm(dir, { recursive: true, force: true }));

const withPlugin = async (dir: string, own: object, test: (subject: Subject) => Promise<void>): Promise<void> => {
  const ports = new FakePorts();
  const host = new PluginHost({
    sandbox: testSandbox,
    ports,
    cacheDir: join(dir, 'cache'),
    log: silentLogger,
    limits: { ...limits, ...own },
  });
  try {
    const loaded = await host.load(await watPlugin(join(dir, 'plugin'), plugin));
    await test({
      loaded,
      ports,
      run: (what, requestId, options) =>
        loaded.run({
          endpoint: 'go',
          input: inputs[what],
          requestId,
          deadlineMs: 60_000,
          signal: new AbortController().signal,
          files: new Map(),
          ...options,
        }),
      begun: (requestId) =>
        ports.lines
          .map((line) => JSON.parse(line))
          .filter(({ request, message }) => request === requestId && message === 'began').length,
      until: async (condition) => {
        while (!condition()) await delay(5);
      },
    });
  } finally {
    await host.close();
  }
};

Neighbours(
  'requests that come while one computes for ever are answered before it ends, each run once',
  async ({ dir }) => {
    await withPlugin(dir, {}, async ({ run, begun, until }) => {
      const client = new AbortController();
      const looping = nameOf(run('loop', 'loop', { signal: client.signal, deadlineMs: never }));
      await until(() => begun('loop') === 1);
      const names = numbered('later', 20);
      assert.equal(
        await Promise.all(names.map((name) => run('quick', name))),
        names.map(() => '7'),
      );
      client.abort();
      assert.is(await looping, 'CancelledError');
      assert.equal(
        [...names, 'loop'].map(begun),
        [...names, 'loop'].map(() => 1),
      );
    });
  },
);

Neighbours(
  'requests that are sent together with one that computes for ever are answered before it ends, each run once',
  async ({ dir }) => {
    await withPlugin(dir, {}, async ({ run, begun }) => {
      const client = new AbortController();
      const looping = nameOf(run('loop', 'loop', { signal: client.signal, deadlineMs: never }));
      const names = numbered('together', 20);
      assert.equal(
        await Promise.all(names.map((name) => run('quick', name))),
        names.map(() => '7'),
      );
      client.abort();
      await looping;
      assert.equal(
        [...names, 'loop'].map(begun),
        [...names, 'loop'].map(() => 1),
      );
    });
  },
);

Neighbours('requests that find no place wait for the end of those that compute, and run once', async ({ dir }) => {
  await withPlugin(dir, { maxConcurrent: 1 }, async ({ run, begun, until }) => {
    const client = new AbortController();
    const looping = nameOf(run('loop', 'loop', { signal: client.signal, deadlineMs: never }));
    const names = numbered('waiting', 20);
    const answers = names.map((name) => run('quick', name));
    await until(() => begun('loop') === 1);
    client.abort();
    await looping;
    assert.equal(
      await Promise.all(answers),
      names.map(() => '7'),
    );
    assert.equal(
      names.map(begun),
      names.map(() => 1),
    );
  });
});

Neighbours(
  'a request whose client goes while it waits behind one that computes ends at once and never runs',
  async ({ dir }) => {
    await withPlugin(dir, { maxConcurrent: 1 }, async ({ run, begun, until }) => {
      const clients = [new AbortController(), new AbortController()] as const;
      const looping = nameOf(run('loop', 'loop', { signal: clients[0].signal, deadlineMs: never }));
      const gone = nameOf(run('quick', 'gone', { signal: clients[1].signal }));
      await until(() => begun('loop') === 1);
      clients[1].abort();
      assert.is(await gone, 'CancelledError');
      clients[0].abort();
      await looping;
      assert.is(await run('quick', 'next'), '7');
      assert.equal([begun('gone'), begun('next')], [0, 1]);
    });
  },
);

Neighbours('a request that waits for the host goes on beside a loop', async ({ dir }) => {
  await withPlugin(dir, {}, async ({ run, begun, until, ports }) => {
    const client = new AbortController();
    const begunBefore = run('wait', 'begun before');
    await until(() => ports.waiting === 1);
    const looping = nameOf(run('loop', 'loop', { signal: client.signal, deadlineMs: never }));
    await until(() => begun('loop') === 1);
    ports.gate.resolve();
    assert.is(await begunBefore, '7');
    assert.is(begun('begun before'), 1);
    client.abort();
    await looping;
  });
});

Neighbours.run();
