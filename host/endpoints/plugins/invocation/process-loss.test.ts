// The process of a plugin is killed while requests are in it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import type { AanaError } from '../../../base/core/errors.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { watPlugin } from '../fixtures/wat-plugin.ts';
import { type LoadedPlugin, PluginHost } from '../set/plugin-host.ts';
import type { PluginInvocation } from './invocation.ts';

/**
 * What it does after it has logged that it began, by the length of the input: nothing, call a deployment, or compute
 * until less than `leftMs` remain. Then it answers with 7.
 */
const inputs = { quick: '{}', call: '{"a":1}', compute: '{"a":"bcdefg"}' } as const;
const leftMs = 57_000;
const plugin = {
  manifest: { capabilities: ['deployments'], deployments: ['model'] },
  imports: `(import "aana:host/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))
    (import "aana:host/invocation@0.1.0" "remaining-ms" (func $left (result i64)))
    (import "aana:host/deployments@0.1.0" "call" (func $call (param i32 i32 i32 i32 i32 i32 i32 i32 i32)))`,
  declarations:
    '(data (i32.const 2048) "began") (data (i32.const 2064) "model") (data (i32.const 2080) "wait") (data ' +
    '(i32.const 2096) "{}")',
  go: `(call $log (i32.const 1) (i32.const 2048) (i32.const 5) (i32.const 0) (i32.const 0))
    (if (i32.gt_u (local.get $length) (i32.const ${inputs.call.length}))
      (then (loop $more (br_if $more (i64.ge_u (call $left) (i64.const ${leftMs}))))))
    (if (i32.eq (local.get $length) (i32.const ${inputs.call.length}))
      (then (call $call (i32.const 2064) (i32.const 5) (i32.const 2080) (i32.const 4)
        (i32.const 2096) (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 128))))
    (i32.const 7)`,
};

interface Context {
  dir: string;
  ports: FakePorts;
  host: PluginHost;
  loaded: LoadedPlugin;
}

const Loss = suite<Context>('a plugin whose process is lost');
Loss.before.each(async (context) => {
  context.dir = await mkdtemp(join(tmpdir(), 'aana-loss-'));
  context.ports = new FakePorts();
  const { dir, ports } = context;
  context.host = new PluginHost({
    ...{ sandbox: testSandbox, ports, cacheDir: join(dir, 'cache'), log: silentLogger },
    limits: { maxThreads: 1, hostCalls: 1_000_000 },
  });
  context.loaded = await context.host.load(await watPlugin(join(dir, 'plugin'), plugin));
});
Loss.after.each(async ({ dir, host }) => {
  await host.close();
  await rm(dir, { recursive: true, force: true });
});

const run = (
  { loaded }: Context,
  what: keyof typeof inputs,
  userId: string,
  options: Partial<PluginInvocation> = {},
): Promise<string> =>
  loaded
    .run({
      endpoint: 'go',
      input: inputs[what],
      requestId: userId,
      userId,
      deadlineMs: leftMs + 1_500,
      signal: new AbortController().signal,
      files: new Map(),
      ...options,
    })
    .catch((error: AanaError) => error.name);

/** Waits until so many runs have begun, those that run again included. */
async function begun({ ports }: Context, count: number): Promise<void> {
  while (ports.lines.filter((line) => line.includes('"began"')).length < count) await delay(2);
}

/** Waits for a process, and kills it. */
async function kill({ loaded }: Context): Promise<void> {
  while (loaded.pid === undefined) await delay(1);
  process.kill(loaded.pid, 'SIGKILL');
}

Loss('runs again what had no effect, once, and tells the others', async (context) => {
  const calling = run(context, 'call', 'calling');
  while (context.ports.waiting < 1) await delay(1);
  const computing = ['a', 'b', 'c'].map((name) => run(context, 'compute', name));
  await begun(context, 4);
  await kill(context);
  assert.is(await calling, 'PluginUnavailable');
  assert.equal(await Promise.all(computing), ['7', '7', '7']);
  assert.equal(
    context.ports.waits.map(({ userId }) => userId),
    ['calling'],
  );
  assert.is(context.loaded.restarts, 1);
  assert.is(context.loaded.counters().running, 0);
});

Loss('runs again one after the other, because one of them may end the process each time', async (context) => {
  const deadlineMs = leftMs + 8_000;
  const computing = ['a', 'b', 'c'].map((name) => run(context, 'compute', name, { deadlineMs }));
  await begun(context, 3);
  await kill(context);
  await begun(context, 4);
  await kill(context);
  assert.equal((await Promise.all(computing)).toSorted(), ['7', '7', 'PluginUnavailable']);
});

Loss('a request whose client goes while it waits for the next process does not run', async (context) => {
  const client = new AbortController();
  const deadlineMs = leftMs + 30_000;
  const computing = run(context, 'compute', 'a', { signal: client.signal, deadlineMs });
  await begun(context, 1);
  await kill(context);
  while (context.loaded.restarts < 1) await delay(1);
  client.abort();
  assert.is(await computing, 'CancelledError');
  assert.is(await run(context, 'quick', 'b'), '7');
  assert.is(context.loaded.counters().running, 0);
});

Loss('under load every request is answered or told, and no effect comes twice', async (context) => {
  const times = Number(process.env['AANA_PLUGIN_KILLS'] ?? 6);
  context.ports.gate.resolve();
  const outcomes = new Map<string, number>();
  let isOver = false;
  let sent = 0;
  const client = async (): Promise<void> => {
    while (!isOver) {
      const id = `request ${sent++}`;
      const outcome = await run(context, (['quick', 'call'] as const)[sent % 2]!, id);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  const clients = Array.from({ length: 8 }, client);
  for (let n = 0; n < times; n++) {
    const before = sent;
    while (sent < before + 50) await delay(1);
    await kill(context);
  }
  isOver = true;
  await Promise.all(clients);
  assert.equal(
    [...outcomes.keys()].filter((name) => name !== '7' && name !== 'PluginUnavailable'),
    [],
  );
  assert.is(
    [...outcomes.values()].reduce((sum, count) => sum + count, 0),
    sent,
  );
  assert.ok(outcomes.get('7')! > times, JSON.stringify([...outcomes]));
  while (context.loaded.restarts < times) await delay(1);
  const calls = context.ports.waits.map(({ userId }) => userId);
  assert.is(new Set(calls).size, calls.length, 'a call came twice');
  assert.is(context.loaded.restarts, times);
});

Loss('its end while it is closed, drained or loaded again hurts nobody', async (context) => {
  for (let n = 0; n < 3; n++) {
    const before = context.ports.lines.length;
    const computing = run(context, 'compute', 'a');
    while (context.ports.lines.length === before) await delay(2);
    const next = context.host.load(join(context.dir, 'plugin'), { replaces: context.loaded });
    await kill(context);
    const drained = context.loaded.drain();
    context.loaded = await next;
    await drained;
    assert.match(await computing, /^(7|PluginUnavailable)$/);
    assert.is(await run(context, 'quick', 'b'), '7');
  }
});

Loss.run();
