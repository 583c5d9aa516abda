// The engine's guarantees to each request: its turn, its deadline, an end, and the fault of a failure.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  addonPath,
  endOf,
  type EndEvent,
  errorOf,
  greedy,
  isBuilt,
  options,
  prompt,
  TestEngine,
} from './fixtures/test-engine.ts';
import { writeTinyLlama } from './fixtures/tiny-llama.ts';

const Requests = suite('requests to the llama engine');
const folder = mkdtempSync(join(tmpdir(), 'aana-llama-requests-'));
Requests.after(() => rmSync(folder, { recursive: true }));

function test(title: string, run: () => Promise<void>): void {
  if (isBuilt) Requests(title, run);
  else process.stdout.write(`SKIP ${title}: the native addon is not built\n`);
}

test("an empty prompt for a model without a first token is the caller's mistake", async () => {
  const modelPath = join(folder, 'no-bos.gguf'); // like Qwen's models
  writeTinyLlama(modelPath, { beginsTexts: false });
  await using llama = await TestEngine.load({ modelPath });
  const { code, fault, message } = errorOf(await llama.generate(''));
  assert.equal([code, fault, message], ['empty-prompt', 'caller', 'the prompt is empty']);
  endOf(await llama.generate(prompt));
});

test('a request whose deadline has passed is refused before it is read', async () => {
  await using llama = await TestEngine.load();
  const { code, fault, promptTokens } = errorOf(await llama.generate(prompt, { deadlineMs: -5 }));
  assert.equal([code, fault, promptTokens], ['deadline-exceeded', 'overload', 0]);
  assert.is(llama.engine.steps, 0);
});

test('a request ends as overload when its deadline passes while it waits for a place', async () => {
  await using llama = await TestEngine.load({ maxSequences: 1 });
  const running = llama.submit(prompt, { maxTokens: 200 });
  llama.unread.add(running); // it stops and keeps its place
  await llama.until(() => llama.of(running).length >= 64);
  const { code, fault, promptTokens } = errorOf(await llama.generate('A cat', { deadlineMs: 500 }));
  assert.equal([code, fault, promptTokens > 0], ['deadline-exceeded', 'overload', true]);
});

test('a request ends and frees its place when its deadline passes during its answer', async () => {
  await using llama = await TestEngine.load({ maxSequences: 1 });
  const id = llama.submit(prompt, { maxTokens: 200, deadlineMs: 1000 });
  llama.unread.add(id); // otherwise it could be complete by then
  const { code, fault } = errorOf(await llama.finish(id));
  assert.equal([code, fault], ['deadline-exceeded', 'cancelled']);
  endOf(await llama.generate('A cat'));
});

test('a request with a higher priority begins before earlier requests of its tenant', async () => {
  await using llama = await TestEngine.load({ maxSequences: 1 });
  const first = llama.submit(prompt, { maxTokens: 100 }); // long, so that it runs until all others are submitted
  const [low, high] = [
    llama.submit('A cat', { maxTokens: 4, priority: -1 }),
    llama.submit('A dog', { maxTokens: 4, priority: 2 }),
  ];
  const middle = llama.submit('A bird', { maxTokens: 4 });
  await Promise.all([first, low, high, middle].map((id) => llama.finish(id)));
  const ends = llama.events.filter(({ type }) => type === 'end').map(({ id }) => id);
  assert.ok(ends.indexOf(high) < ends.indexOf(middle) && ends.indexOf(middle) < ends.indexOf(low), `${ends}`);
});

test('a tenant with one request does not wait for all requests of another one, whatever their priority', async () => {
  await using llama = await TestEngine.load({ maxSequences: 1 });
  const many = Array.from({ length: 8 }, (_, n) =>
    // The first one still runs when the last one is submitted, also on a slow machine.
    llama.submit(`Story number ${n}`, { maxTokens: n === 0 ? 200 : 12, tenant: 'many', priority: 1000 }),
  );
  const one = llama.submit('A cat', { maxTokens: 12, tenant: 'one' });
  await Promise.all([...many, one].map((id) => llama.finish(id)));
  const ends = llama.events.filter(({ type }) => type === 'end').map(({ id }) => id);
  assert.ok(ends.indexOf(one) <= 1, `${ends}`);
});

test('a request whose reader is behind yields its place and later continues its text', async () => {
  const settings = { maxTokens: 120, temperature: 1.1, seed: 5 };
  await using alone = await TestEngine.load({ maxSequences: 1 });
  const whole = await alone.generate(prompt, settings);
  await using llama = await TestEngine.load({ maxSequences: 1 });
  const slow = llama.submit(prompt, settings);
  llama.unread.add(slow);
  await llama.until(() => llama.of(slow).length >= 64);
  for (const other of ['The dog', 'A cat'])
    assert.is(endOf(await llama.generate(other, { maxTokens: 40 })).completionTokens, 40);
  assert.is(llama.of(slow).length, 64);
  llama.unread.delete(slow);
  llama.engine.acknowledge(slow, 64);
  const generation = await llama.finish(slow);
  assert.is(generation.text, whole.text);
  const countsOf = ({ reason, promptTokens, reusedTokens, completionTokens }: EndEvent): unknown[] => [
    ...[reason, promptTokens, reusedTokens, completionTokens],
  ];
  assert.equal(countsOf(endOf(generation)), countsOf(endOf(whole)));
});

test('a request without a place can be cancelled, and ends when the engine is closed', async () => {
  const llama = await TestEngine.load({ maxSequences: 1 });
  const parked: number[] = [];
  for (let n = 0; n < 2; n += 1) {
    const id = llama.submit(prompt, { maxTokens: 120, temperature: 1, seed: 5 });
    parked.push(id);
    llama.unread.add(id);
    await llama.until(() => llama.of(id).length >= 64);
  }
  endOf(await llama.generate('A cat', { maxTokens: 3 }));
  const [first = 0, second = 0] = parked;
  llama.engine.cancel(first);
  assert.is(endOf(await llama.finish(first)).reason, 'cancelled');
  await llama.engine.close();
  assert.is(endOf(await llama.finish(second)).reason, 'cancelled');
});

test('a request whose reader takes nothing fails after a while', async () => {
  await using llama = await TestEngine.load({ readerTimeoutMs: 100 });
  const id = llama.submit(prompt, { maxTokens: 200 });
  llama.unread.add(id);
  const { code, fault } = errorOf(await llama.finish(id));
  assert.equal([code, fault], ['slow-reader', 'caller']);
  assert.is(llama.of(id).length, 65, 'the events before the failure can still be read');
});

test('invalid terms are refused', async () => {
  await using llama = await TestEngine.load();
  for (const terms of [{ tenant: 5 }, { priority: 'high' }, { deadlineMs: Number.NaN }]) {
    assert.throws(() => llama.submit(prompt, terms as object), Object.keys(terms)[0]);
  }
  endOf(await llama.generate(prompt, { tenant: null, priority: 1e20, deadlineMs: Number.POSITIVE_INFINITY }));
});

test('open requests fail when the engine’s thread ends unexpectedly, and the engine reports its end', async () => {
  if (process.platform !== 'linux') return;
  const source = resolve(dirname(fileURLToPath(import.meta.url)), '../../../native/lib/fixtures/failing-decode.c');
  const library = join(folder, 'failing-decode.so');
  execFileSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl']);
  const program = `
    import { loadNative } from ${JSON.stringify(new URL('load.js', import.meta.url).href)};
    const told = new Map();
    const onEvent = ({ id, type, code, fault }) => {
      told.set(id, [type, code, fault]);
      if (told.size < 4) return;
      let refusal = '';
      try { engine.submit(5, { text: 'A cat' }, sampling); } catch (error) { refusal = error.message; }
      const { failure, busy } = engine;
      process.stdout.write(JSON.stringify({ told: [...told.values()], failure, refusal, busy }));
      process.exit(0);
    };
    const sampling = ${JSON.stringify(greedy)};
    const native = loadNative({ addonPath: ${JSON.stringify(addonPath)} });
    const engine = await native.loadLlama(${JSON.stringify(options)}, onEvent, () => {});
    for (let id = 1; id <= 4; id += 1) engine.submit(id, { text: 'Once upon a time' }, sampling);`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    env: { ...process.env, LD_PRELOAD: library },
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.is(status, 0, stderr);
  const { told, failure, refusal, busy } = JSON.parse(stdout) as {
    told: unknown[];
    failure: string;
    refusal: string;
    busy: boolean;
  };
  assert.equal(
    told,
    Array.from({ length: 4 }, () => ['error', 'engine-ended', 'deployment']),
  );
  assert.match(failure, /^the engine ended: ./);
  assert.equal([refusal, busy], [failure, false]);
});

Requests.run();
