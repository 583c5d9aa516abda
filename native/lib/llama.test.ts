import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  addonPath,
  endOf,
  greedy,
  isBuilt,
  options,
  prompt,
  rejection,
  TestEngine,
  tinyModel,
} from './fixtures/test-engine.ts';
import { TINY_LLAMA, writeProjector } from './fixtures/tiny-llama.ts';
import type { LlamaEvent } from './binding/index.ts';
import { loadNative } from './load.ts';

const Llama = suite('llama engine');

function test(title: string, run: () => Promise<void>): void {
  if (isBuilt) Llama(title, run);
  else process.stdout.write(`SKIP ${title}: the native addon is not built\n`);
}

test('text comes in pieces, followed by the counts', async () => {
  await using llama = await TestEngine.load();
  const generation = await llama.generate(prompt);
  assert.ok(generation.texts.length > 5, `${generation.texts.length} pieces`);
  assert.ok(generation.text.length > 20);
  const { queueMs, promptMs, completionMs, ...counts } = endOf(generation);
  assert.equal(counts, {
    id: 1,
    type: 'end',
    reason: 'length',
    promptTokens: 5,
    reusedTokens: 0,
    completionTokens: 32,
    reasoningTokens: 0,
  });
  assert.ok(queueMs >= 0 && promptMs > 0 && completionMs > 0, `${queueMs}, ${promptMs}, ${completionMs}`);
  const tokens = llama.events.reduce((sum, event) => sum + (event.type === 'text' ? event.tokens : 0), 0);
  assert.is(tokens, 32);
});

test('the engine is busy only while it works on a prompt, and beats inside a step', async () => {
  await using llama = await TestEngine.load({ prefillTokensPerStep: 256 });
  const before = llama.engine.beats - llama.engine.steps;
  endOf(await llama.generate('Once upon a time there was a cat. '.repeat(10), { maxTokens: 1 }));
  const inSteps = llama.engine.beats - llama.engine.steps - before;
  assert.ok(inSteps > 20 * llama.engine.steps, `${inSteps} beats in ${llama.engine.steps} steps`);
  while (llama.engine.busy) await new Promise((go) => setTimeout(go, 5));
});

test('an engine is not busy while its reader is behind', async () => {
  await using llama = await TestEngine.load();
  const id = llama.submit(prompt, { maxTokens: 200 });
  llama.unread.add(id);
  await llama.until(() => llama.of(id).length > 0);
  while (llama.engine.busy) await new Promise((go) => setTimeout(go, 5));
  assert.not.ok(llama.of(id).some((event) => event.type === 'end'));
});

test('warnings of the library during a load are none of the engine; its error is the reason of a failure', async () => {
  const lines: { level: string; message: string }[] = [];
  const binding = loadNative({ addonPath });
  binding.setLogger((level, message) => lines.push({ level, message }));
  const folder = await mkdtemp(join(tmpdir(), 'aana-llama-'));
  try {
    // Fewer tokens than the model was trained with, so that llama.cpp warns.
    await using _llama = await TestEngine.load();
    // Another thread delivers the lines.
    const warned = (): boolean => lines.some(({ message }) => message.includes('n_ctx_train'));
    for (let waits = 0; waits < 2000 && !warned(); waits++) await new Promise((go) => setTimeout(go, 5));
    assert.equal(
      lines.filter(({ level }) => level === 'warn' || level === 'error'),
      [],
    );
    assert.ok(warned(), JSON.stringify(lines));
    const strange = join(folder, 'strange.gguf');
    const bytes = await readFile(tinyModel);
    bytes.write('llamx', bytes.indexOf('llama', bytes.indexOf('general.architecture')), 'latin1');
    await writeFile(strange, bytes);
    const error = await rejection(TestEngine.load({ modelPath: strange }));
    assert.match(error.message, 'strange.gguf could not be loaded');
    assert.match(error.message, "unknown model architecture: 'llamx'");
  } finally {
    binding.setLogger(() => {});
    await rm(folder, { recursive: true });
  }
});

test('info describes the model', async () => {
  await using llama = await TestEngine.load({ contextTokens: 0 });
  const { info } = llama.engine;
  assert.is(info.contextTokens, TINY_LLAMA.contextTokens);
  assert.is(info.vocabularySize, TINY_LLAMA.vocabularySize);
  assert.match(info.description, 'llama');
});

test('a context longer than the trained one is cut to the trained length', async () => {
  await using llama = await TestEngine.load({ contextTokens: 100_000 });
  assert.is(llama.engine.info.contextTokens, TINY_LLAMA.contextTokens);
});

test('two requests that run together interleave their events', async () => {
  await using llama = await TestEngine.load();
  // Longer than the text that is written before any acknowledgement, so the first cannot end before the second begins.
  const ids = [prompt, 'The dog ran'].map((text) => llama.submit(text, { maxTokens: 100, temperature: 1 }));
  await Promise.all(ids.map((id) => llama.finish(id)));
  const [first = 0, second = 0] = ids;
  const place = (id: number, which: 'findIndex' | 'findLastIndex') =>
    llama.events[which]((event) => event.id === id && event.type === 'text');
  assert.ok(place(second, 'findIndex') < place(first, 'findLastIndex'), 'the second starts before the first ends');
  assert.ok(place(first, 'findIndex') < place(second, 'findLastIndex'));
});

test('greedy text repeats when a request runs alone', async () => {
  await using first = await TestEngine.load();
  await using second = await TestEngine.load();
  assert.is((await first.generate(prompt)).text, (await second.generate(prompt)).text);
});

test('the same seed gives the same text, another seed a different text', async () => {
  const draw = async (seed: number) => {
    await using llama = await TestEngine.load();
    return (await llama.generate(prompt, { temperature: 1.5, seed, maxTokens: 64 })).text;
  };
  const text = await draw(7);
  assert.is(await draw(7), text);
  assert.is.not(await draw(8), text);
});

test('all sampling settings together produce text', async () => {
  await using llama = await TestEngine.load();
  const generation = await llama.generate(prompt, {
    temperature: 0.8,
    topK: 40,
    topP: 0.9,
    minP: 0.05,
    repetitionPenalty: 1.1,
  });
  assert.ok(generation.text.length > 20);
});

test('text ends before a stop string, even if the string spans tokens', async () => {
  await using llama = await TestEngine.load();
  const whole = (await llama.generate(prompt)).text;
  const at = 11;
  const stop = whole.slice(at, at + 9);
  const generation = await llama.generate(prompt, { stop: ['never in the text', stop] });
  assert.is(endOf(generation).reason, 'stop');
  assert.is(generation.text, whole.slice(0, whole.indexOf(stop)));
});

test('text that only begins like a stop string is delivered', async () => {
  await using llama = await TestEngine.load();
  const whole = (await llama.generate(prompt)).text;
  const generation = await llama.generate(prompt, { stop: [`${whole.slice(-6)}#`, `${whole.slice(3, 9)}#`] });
  assert.is(endOf(generation).reason, 'length');
  assert.is(generation.text, whole);
});

test('a request makes exactly maxTokens tokens, also 0', async () => {
  await using llama = await TestEngine.load();
  for (const maxTokens of [0, 1, 7]) {
    const end = endOf(await llama.generate(prompt, { maxTokens }));
    assert.is(end.completionTokens, maxTokens);
    assert.is(end.reason, 'length');
  }
});

test('a full context ends a request with length', async () => {
  await using llama = await TestEngine.load({ contextTokens: 64 });
  const end = endOf(await llama.generate(prompt, { maxTokens: 1000, temperature: 1, seed: 3 }));
  assert.is(end.reason, 'length');
  assert.is(end.promptTokens + end.completionTokens, 64);
});

test('a prompt that does not fit is refused with both numbers', async () => {
  await using llama = await TestEngine.load({ contextTokens: 64 });
  const text = 'one two three '.repeat(30);
  const { last } = await llama.generate(text);
  const tokens = await llama.count(text);
  assert.ok(tokens > 64);
  assert.equal(
    { ...last, message: '' },
    {
      id: 1,
      type: 'error',
      code: 'prompt-too-long',
      fault: 'caller',
      message: '',
      promptTokens: tokens,
      maxTokens: 64,
    },
  );
  endOf(await llama.generate(prompt));
});

test('a prompt is decoded over many steps', async () => {
  await using llama = await TestEngine.load({ prefillTokensPerStep: 8 });
  const end = endOf(await llama.generate('the little dog '.repeat(20), { maxTokens: 1 }));
  assert.ok(end.promptTokens > 40);
  assert.is(llama.engine.steps, Math.ceil(end.promptTokens / 8));
});

test('a short request does not wait for a long prompt that came before it', async () => {
  await using llama = await TestEngine.load({ prefillTokensPerStep: 8 });
  const long = llama.submit('the little dog ran '.repeat(50), { maxTokens: 2 });
  const short = llama.submit(prompt, { maxTokens: 8 });
  const [last] = await Promise.all([llama.finish(long), llama.finish(short)]);
  assert.ok(endOf(last).promptTokens > 100);
  const shortEnd = llama.events.findIndex((event) => event.id === short && event.type === 'end');
  assert.ok(shortEnd < llama.events.findIndex((event) => event.id === long));
});

test('a cancelled request ends as cancelled and frees its place', async () => {
  await using llama = await TestEngine.load({ maxSequences: 1 });
  const id = llama.submit(prompt, { maxTokens: 200 });
  const waiting = llama.submit('A cat', { maxTokens: 4 });
  await llama.until(() => llama.of(id).length > 0);
  llama.engine.cancel(id);
  assert.is(endOf(await llama.finish(id)).reason, 'cancelled');
  assert.is(endOf(await llama.finish(waiting)).reason, 'length');
});

test('a request that waits for a place can be cancelled', async () => {
  await using llama = await TestEngine.load({ maxSequences: 1 });
  const running = llama.submit(prompt, { maxTokens: 60 });
  const waiting = llama.submit(prompt);
  llama.engine.cancel(waiting);
  assert.equal(await llama.finish(waiting).then((generation) => generation.text), '');
  assert.is(endOf(await llama.finish(running)).reason, 'length');
  llama.engine.cancel(12345);
});

test('more requests than places all finish, in order of arrival', async () => {
  await using llama = await TestEngine.load();
  const ids = Array.from({ length: 9 }, (_, i) => llama.submit(`Story number ${i}`, { maxTokens: 6 }));
  for (const id of ids) assert.is(endOf(await llama.finish(id)).completionTokens, 6);
  const starts = ids.map((id) => llama.events.findIndex((event) => event.id === id));
  for (const [i, start] of starts.entries()) assert.ok(i < 2 || start > (starts[i - 2] ?? 0), `${starts}`);
});

test('a request that is not acknowledged is paused and does not stop another', async () => {
  await using llama = await TestEngine.load();
  const slow = llama.submit(prompt, { maxTokens: 200, temperature: 1.2, seed: 5 });
  llama.unread.add(slow);
  await llama.until(() => llama.of(slow).length >= 64);
  const other = endOf(await llama.generate('The dog', { maxTokens: 40 }));
  assert.is(other.completionTokens, 40);
  assert.is(llama.of(slow).length, 64, 'limited while the reader takes nothing');
  llama.engine.acknowledge(slow, 10);
  await llama.until(() => llama.of(slow).length >= 74);
  llama.engine.cancel(slow);
  assert.is(endOf(await llama.finish(slow)).reason, 'cancelled');
});

test('a repeated prompt reuses all but the last token of the first', async () => {
  await using llama = await TestEngine.load();
  const text = 'Once upon a time there was a little girl who lived';
  const first = await llama.generate(text);
  const second = await llama.generate(text);
  assert.is(endOf(first).reusedTokens, 0);
  assert.is(endOf(second).reusedTokens, endOf(second).promptTokens - 1);
  assert.is(second.text, first.text);
});

test('a continued conversation finds its cached sequence again', async () => {
  await using llama = await TestEngine.load();
  const [mine, theirs] = [
    'Lily had a red ball and she went to play with it',
    'The big dog was very sad because it had no home',
  ];
  const [first] = await Promise.all([mine, theirs].map((text) => llama.generate(text)));
  assert.ok(first);
  const tokens = await llama.count(mine + first.text);
  const end = endOf(await llama.generate(`${mine}${first.text} And then`));
  // The end of the old text may be split into other tokens than before.
  assert.ok(end.reusedTokens > tokens - 8, `${end.reusedTokens} of ${end.promptTokens} reused`);
});

test('a request with the same beginning leaves a longer conversation in its slot if another one is free', async () => {
  await using llama = await TestEngine.load();
  const beginning = 'Once upon a time there was a little girl';
  const story = `${beginning} ${'and she had a red ball '.repeat(12)}`;
  const first = await llama.generate(story, { maxTokens: 20 });
  await llama.generate(`${beginning} in a house`, { maxTokens: 4 });
  const { reusedTokens, promptTokens } = endOf(await llama.generate(`${story}${first.text} and`, { maxTokens: 1 }));
  // Text and tokens need not have the same borders where the answer begins.
  assert.ok(reusedTokens > promptTokens - 30, `${reusedTokens} of ${promptTokens} reused`);
});

test('text consists of whole characters', async () => {
  await using llama = await TestEngine.load();
  const generation = await llama.generate('🙂 é ü 漢', { temperature: 5, seed: 2, maxTokens: 120 });
  for (const text of generation.texts) assert.not.match(text, /\p{Surrogate}/u);
});

test('a load fails if the type of keys and values does not fit the model', async () => {
  // The model's heads are narrower than a block of q8_0.
  const error = await rejection(TestEngine.load({ keyType: 'q8_0' }));
  assert.match(error.message, 'q8_0');
  assert.match(error.message, 'tiny-llama.gguf');
});

test('a given template replaces the model’s own', async () => {
  await using llama = await TestEngine.load({
    chatTemplate:
      '{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt ' +
      '%}[assistant]{% endif %}',
  });
  const messages = [
    { role: 'system', content: 'S' },
    { role: 'user', content: 'U' },
  ];
  // Equal sampling of an equal text: the first is the template's, the second is written here.
  const [templated, written] = await Promise.all([
    llama.generate({ messages, prefix: '' }),
    llama.generate('[system]S[user]U[assistant]'),
  ]);
  assert.equal([templated.text, endOf(templated).promptTokens], [written.text, endOf(written).promptTokens]);
});

test('a load fails if the template cannot be parsed', async () => {
  const error = await rejection(TestEngine.load({ chatTemplate: '{% for m in %}' }));
  assert.match(error.message, 'chat template');
  assert.match(error.message, 'tiny-llama.gguf');
});

test("a load fails with the file's name if the file is missing, foreign, truncated or not for text", async () => {
  const folder = await mkdtemp(join(tmpdir(), 'aana-llama-'));
  try {
    const whole = await readFile(tinyModel);
    const files = {
      'text.gguf': Buffer.from('not a model'),
      'empty.gguf': Buffer.alloc(0),
      'half.gguf': whole.subarray(0, whole.length / 2),
      'header.gguf': whole.subarray(0, 500),
    };
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
    const paths = ['missing.gguf', ...Object.keys(files)].map((name) => join(folder, name));
    const projector = join(folder, 'projector.gguf');
    writeProjector(projector);
    paths.push(projector);
    for (const modelPath of [...paths, folder]) {
      const error = await rejection(TestEngine.load({ modelPath }));
      assert.ok(error.message.includes(modelPath), `${modelPath}: ${error.message}`);
    }
    const truncated = await rejection(TestEngine.load({ modelPath: join(folder, 'half.gguf') }));
    assert.match(truncated.message, `${Math.floor(whole.length / 2)} of ${whole.length} bytes`);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('invalid options are refused before the load', async () => {
  for (const changes of [
    { maxSequences: 0 },
    { maxSequences: 257 },
    { passTokens: 31 },
    { threads: 0.5 },
    { contextTokens: -1 },
    { keyType: 'q2' as 'f16' },
    { valueType: 'f32' as 'f16' },
    { flashAttention: 'maybe' as 'on' },
    { gpuLayers: 'some' as 'auto' },
  ]) {
    const error = await rejection(TestEngine.load(changes));
    assert.match(error.message, Object.keys(changes)[0] ?? '');
  }
});

test('a missing GPU is refused, and split options are ignored on the CPU', async () => {
  const error = await rejection(TestEngine.load({ gpuLayers: -1, devices: ['CUDA77'] }));
  assert.match(error.message, /tiny-llama\.gguf is to be loaded onto CUDA77, a device that is not there/);
  for (const changes of [
    { splitMode: 'none' as const, mainGpu: 3 },
    { splitMode: 'row' as const, tensorSplit: [3, 1] },
    { splitMode: 'tensor' as const },
  ]) {
    await using llama = await TestEngine.load({ ...changes, devices: ['CUDA77'] }); // no layer is put on it
    endOf(await llama.generate(prompt, { maxTokens: 2 }));
  }
  for (const changes of [{ splitMode: 'columns' as 'row' }, { tensorSplit: [1, -1] }, { mainGpu: -1 }]) {
    assert.match((await rejection(TestEngine.load(changes))).message, Object.keys(changes)[0] ?? '');
  }
});

test('close ends running and waiting requests as cancelled, and may be called twice', async () => {
  const llama = await TestEngine.load({ maxSequences: 1 });
  const ids = [llama.submit(prompt, { maxTokens: 200 }), llama.submit(prompt)];
  await llama.until(() => llama.events.length > 0);
  await Promise.all([llama.engine.close(), llama.engine.close()]);
  await llama.engine.close();
  for (const id of ids) assert.is(endOf(await llama.finish(id)).reason, 'cancelled');
});

test('a closed engine refuses new requests and ignores calls about old ones', async () => {
  const llama = await TestEngine.load();
  const id = llama.submit(prompt, { maxTokens: 3 });
  await llama.finish(id);
  await llama.engine.close();
  llama.engine.cancel(id);
  llama.engine.acknowledge(id, 1);
  assert.ok(llama.engine.steps > 0);
  assert.throws(() => llama.submit(prompt), 'closed');
  assert.throws(() => llama.engine.countTokens(9, { text: 'x' }, {}), 'closed');
});

test('the id of a running request cannot be used again', async () => {
  await using llama = await TestEngine.load();
  const id = llama.submit(prompt, { maxTokens: 100 });
  assert.throws(() => llama.engine.submit(id, { text: prompt }, greedy), 'is running');
});

/** Source of a program that loads an engine as `engine`, with `submit` for a long request. */
const program = `
  import { loadNative } from ${JSON.stringify(new URL('load.js', import.meta.url).href)};
  let onEvent = () => {};
  const engine = await loadNative({ addonPath: ${JSON.stringify(addonPath)} })
    .loadLlama(${JSON.stringify(options)}, (event) => onEvent(event), () => {});
  const submit = () => engine.submit(1, { text: 'Once upon a time' }, { ...${JSON.stringify(greedy)}, maxTokens: 250 });
`;

async function exitCode(source: string): Promise<number | NodeJS.Signals | null> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program + source], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return code ?? signal;
}

test('an idle engine does not keep the process running', async () => {
  assert.is(await exitCode('process.exitCode = 7'), 7);
});

test('a running request keeps the process running until its end', async () => {
  assert.is(
    await exitCode(
      "onEvent = ({ type }) => { engine.acknowledge(1, 99); if (type === 'end') process.exitCode = 8; }; submit()",
    ),
    8,
  );
});

test('a process can exit during a load and during a decode', async () => {
  assert.is(await exitCode('submit(); onEvent = () => process.exit(9)'), 9);
  assert.is(
    await exitCode(
      `loadNative({ addonPath: ${JSON.stringify(addonPath)} }).loadLlama(${JSON.stringify(options)}, () => {}, () ` +
        `=> {}); process.exit(6)`,
    ),
    6,
  );
});

test('terminating a worker during a decode does not harm the process', async () => {
  for (let i = 0; i < 5; i++) {
    const send = 'onEvent = () => { engine.acknowledge(1, 1); parentPort.postMessage(0); }; submit();';
    const worker = new Worker(`import { parentPort } from 'node:worker_threads'; ${program} ${send}`, { eval: true });
    await once(worker, 'message');
    await worker.terminate();
  }
});

test('a request whose listener throws ends with the error, and others go on', async () => {
  const events: LlamaEvent[] = [];
  let onEnd = (): void => {};
  const left = new Set([1, 2, 3, 4]);
  const onEvent = (event: LlamaEvent): void => {
    events.push(event);
    if (event.type === 'text') engine.acknowledge(event.id, 1);
    else left.delete(event.id);
    if (left.size === 0) onEnd();
    // Also at the last event of 4, when nothing is left to tell.
    if ((event.id === 2 && event.type === 'text') || (event.id === 4 && event.type === 'end'))
      throw new Error(`cannot take ${event.type}`);
  };
  const engine = await loadNative({ addonPath }).loadLlama({ ...options, maxSequences: 4 }, onEvent, () => {});
  const ended = new Promise<void>((resolve) => (onEnd = resolve));
  for (const id of left) engine.submit(id, { text: prompt }, { ...greedy, maxTokens: 20, ignoreEos: true });
  await ended;
  const of = (id: number): LlamaEvent[] => events.filter((event) => event.id === id);
  const textOf = (id: number): string =>
    of(id)
      .flatMap((event) => (event.type === 'text' ? event.text : []))
      .join('');
  assert.equal(
    of(2).map(({ type }) => type),
    ['text', 'error'],
  );
  const last = of(2).at(-1) as Extract<LlamaEvent, { type: 'error' }>;
  assert.equal([last.code, last.fault], ['failed', 'deployment']);
  assert.match(last.message, /the listener .* threw: cannot take text/);
  for (const id of [1, 3, 4]) assert.is(of(id).at(-1)?.type, 'end');
  assert.is.not(textOf(1), '');
  assert.equal([textOf(3), textOf(4)], [textOf(1), textOf(1)]);
  // The engine goes on, and the ids are free.
  left.add(1);
  const again = new Promise<void>((resolve) => (onEnd = resolve));
  engine.submit(1, { text: prompt }, { ...greedy, maxTokens: 1 });
  await again;
  await engine.close();
});

Llama.run();
