// What happens to prompts and answers that do not fit into the context.
import { mkdtempSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LlamaRequestOptions, LlamaSampling } from './binding/index.ts';
import { endOf, errorOf, isBuilt, sharedCells, TestEngine, tinyModel } from './fixtures/test-engine.ts';
import { tinyToken, writeTinyLlama } from './fixtures/tiny-llama.ts';

const Overflow = suite('prompts and answers that do not fit into the context');

function test(title: string, run: () => Promise<void>): void {
  if (isBuilt) Overflow(title, run);
  else process.stdout.write(`SKIP ${title}: the native addon is not built\n`);
}

const CAT = tinyToken('▁cat');
const END = tinyToken('</s>');
const shift: Partial<LlamaSampling & LlamaRequestOptions> = { overflow: 'shift', ignoreEos: true };
const small = { contextTokens: 64, prefillTokensPerStep: 16 };
const story = 'Once upon a time there was a little girl who had a red ball and a big dog. ';
const layouts = [
  { name: 'shared cells', changes: { totalCells: sharedCells } },
  { name: 'cells for each sequence', changes: { totalCells: 0 } },
];

for (const { name, changes } of layouts) {
  test(`an answer goes on for several times the context: ${name}`, async () => {
    await using llama = await TestEngine.load({ ...small, ...changes });
    const { last, text } = await llama.generate(story, { ...shift, maxTokens: 400, logprobs: 0 });
    const { reason, completionTokens, promptTokens, droppedTokens = 0 } = endOf({ last, text, texts: [] });
    assert.equal([reason, completionTokens], ['length', 400]);
    assert.is(promptTokens, await llama.count(story));
    assert.ok(droppedTokens > 300 && droppedTokens < promptTokens + 400, String(droppedTokens));
    assert.ok(llama.engine.counts.shifts > 10, String(llama.engine.counts.shifts));
    // The keys are moved, so nothing is computed again.
    assert.is(llama.engine.counts.computedTokens, promptTokens + 399);
    const scores = llama.events.flatMap((event) => (event.type === 'text' ? (event.scores ?? []) : []));
    assert.is(scores.length, 400);
  });

  test(`nothing that was moved is reused for another prompt: ${name}`, async () => {
    await using fresh = await TestEngine.load({ ...small, ...changes });
    await using llama = await TestEngine.load({ ...small, ...changes });
    const { text } = await llama.generate(story, { ...shift, maxTokens: 90 });
    const words = text.trim().split(' ').slice(-20).join(' ');
    for (const next of [story, `Once upon a time ${words}`, `${story}${text}`.slice(0, 200)]) {
      const [mine, theirs] = [
        await llama.generate(next, { maxTokens: 6 }),
        await fresh.generate(next, { maxTokens: 6 }),
      ];
      assert.is(mine.text, theirs.text);
    }
  });

  test(`answers whose context shifts lose their cells and get them back: ${name}`, async () => {
    await using llama = await TestEngine.load({
      ...{ ...small, ...changes, maxSequences: 3 },
      ...(changes.totalCells > 0 && { totalCells: 100 }),
    });
    const ids = ['The dog', 'A cat was', 'One day'].map((text) => llama.submit(text, { ...shift, maxTokens: 200 }));
    const ends = (await Promise.all(ids.map((id) => llama.finish(id)))).map(endOf);
    for (const end of ends) assert.is(end.completionTokens, 200);
    const { shifts, preemptions } = llama.engine.counts;
    assert.ok(shifts > 10, String(shifts));
    assert.is(preemptions > 0, changes.totalCells > 0);
  });

  const lengthOf = (engine: TestEngine, id: number): number => textOf(engine, id).length;
  const textOf = (engine: TestEngine, id: number): string =>
    engine.of(id).reduce((text, event) => text + (event.type === 'text' ? event.text : ''), '');
  /** Lets another tenant ask three times while an answer runs. */
  const interrupt = async (llama: TestEngine, id: number): Promise<void> => {
    for (let asked = 0; asked < 3; asked++) {
      const other = endOf(await llama.generate(`${story}The dog`, { maxTokens: 30, tenant: 'other' }));
      assert.is(other.completionTokens, 30);
      const before = lengthOf(llama, id);
      await llama.until(() => lengthOf(llama, id) > before + 400);
    }
    assert.ok(llama.engine.counts.pauses >= 3, `${llama.engine.counts.pauses}`);
  };

  test(`an endless answer is paused for another tenant, and goes on: ${name}`, async () => {
    await using llama = await TestEngine.load({ ...small, ...changes, maxSequences: 1 });
    const id = llama.submit(story, { ...shift, maxTokens: 2_000_000_000, temperature: 0.9, seed: 7, tenant: 'one' });
    await interrupt(llama, id);
    assert.ok(llama.engine.counts.shifts > 5, `${llama.engine.counts.shifts}`);
    llama.engine.cancel(id);
    await llama.finish(id);
  });

  // Once a context has shifted, its cells have another order after the pause, and sums of another order round
  // otherwise.
  test(`an answer that was paused has the same text if its context did not shift: ${name}`, async () => {
    const roomy = { contextTokens: 1024, prefillTokensPerStep: 16, ...changes, maxSequences: 1 };
    const sampling = { ignoreEos: true, maxTokens: 900, temperature: 0.9, seed: 7, tenant: 'one' };
    await using alone = await TestEngine.load(roomy);
    await using llama = await TestEngine.load(roomy);
    const id = llama.submit(story, sampling);
    await interrupt(llama, id);
    llama.engine.cancel(id);
    await llama.finish(id);
    const text = textOf(llama, id);
    const expected = alone.submit(story, sampling);
    await alone.until(() => lengthOf(alone, expected) >= text.length);
    alone.engine.cancel(expected);
    assert.is(text, textOf(alone, expected).slice(0, text.length));
  });

  test(`answers that share a prompt shift alone: ${name}`, async () => {
    await using llama = await TestEngine.load({ ...small, ...changes, maxSequences: 3 });
    const ids = ['cat', 'dog', 'girl'].map((end) => llama.submit(`${story}The ${end}`, { ...shift, maxTokens: 120 }));
    for (const id of ids) {
      const { completionTokens, droppedTokens = 0 } = endOf(await llama.finish(id));
      assert.is(completionTokens, 120);
      assert.ok(droppedTokens > 60, String(droppedTokens));
    }
  });
}

test('guesses and grammars go on over a shift', async () => {
  const cats = { ...shift, maxTokens: 200, logitBias: [{ token: CAT, bias: 100 }] };
  for (const guessedTokensPerStep of [0, 8]) {
    await using llama = await TestEngine.load({ ...small, guessedTokensPerStep });
    assert.is((await llama.generate('Once', cats)).text, ' cat'.repeat(200));
    const grammar = { text: 'root ::= ("cat " | "dog " | "a ")+' };
    const { text, last } = await llama.generate(story, { ...shift, maxTokens: 150, grammar, temperature: 1 });
    assert.match(text, /^((cat|dog|a) )*(c|ca|cat|d|do|dog|a)?$/);
    assert.is(endOf({ last, text, texts: [] }).completionTokens, 150);
  }
});

test('least tokens, penalties and stop tokens count the whole answer', async () => {
  await using llama = await TestEngine.load(small);
  const ends = { overflow: 'shift', maxTokens: 300, logitBias: [{ token: END, bias: 100 }] } as const;
  const { completionTokens, reason } = endOf(await llama.generate(story, { ...ends, minTokens: 130 }));
  assert.equal([completionTokens, reason], [130, 'stop']);
  const penalties = { repetitionPenalty: 1.3, presencePenalty: 0.5, frequencyPenalty: 0.1, badWords: ['dog cat'] };
  const dry = { multiplier: 0.8, base: 1.75, allowedLength: 2, lastTokens: -1 };
  const { text, last } = await llama.generate(story, { ...shift, ...penalties, dry, maxTokens: 200, temperature: 0.8 });
  assert.is(endOf({ last, text, texts: [] }).completionTokens, 200);
  assert.not.match(text, 'dog cat');
});

test('an answer whose context shifts can be cancelled, and leaves nothing wrong', async () => {
  await using llama = await TestEngine.load(small);
  await using fresh = await TestEngine.load(small);
  const id = llama.submit(story, { ...shift, maxTokens: 5000 });
  await llama.until(() => llama.engine.counts.shifts > 2);
  llama.engine.cancel(id);
  assert.is(endOf(await llama.finish(id)).reason, 'cancelled');
  const after = await llama.generate(`${story}The`, { maxTokens: 8 });
  assert.is(after.text, (await fresh.generate(`${story}The`, { maxTokens: 8 })).text);
});

test('without a shift, an answer ends when the context is full', async () => {
  await using llama = await TestEngine.load(small);
  for (const overflow of [undefined, 'error', 'truncate_middle'] as const) {
    const end = endOf(await llama.generate('Once', { maxTokens: 400, ignoreEos: true, ...(overflow && { overflow }) }));
    assert.equal([end.reason, end.promptTokens + end.completionTokens, end.droppedTokens], ['length', 64, undefined]);
  }
});

test('a prompt that is too long loses its middle', async () => {
  await using llama = await TestEngine.load({ contextTokens: 128 });
  const long = `Lily ${story.repeat(30)} The end was happy`;
  const whole = await llama.count(long);
  for (const [maxTokens, promptTokens] of [
    [20, 108],
    [1, 127],
    [500, 64],
  ] as const) {
    const end = endOf(await llama.generate(long, { maxTokens, overflow: 'truncate_middle', ignoreEos: true }));
    assert.equal([end.promptTokens, end.droppedTokens], [promptTokens, whole - promptTokens]);
    assert.is(end.completionTokens, Math.min(maxTokens, 64));
  }
  assert.is(errorOf(await llama.generate(long, { overflow: 'error' })).code, 'prompt-too-long');
  assert.is(errorOf(await llama.generate(long, { overflow: 'shift' })).code, 'prompt-too-long');
});

test('a dialog that is too long loses its oldest turns, then the middle of its longest text', async () => {
  await using llama = await TestEngine.load({ contextTokens: 128 });
  const message = (role: string, content: string) => ({ role, content });
  const turns = Array.from({ length: 10 }, (_, n) => [message('user', `Story ${n}`), message('assistant', story)]);
  const messages = [message('system', 'Lily said yes'), ...turns.flat(), message('user', 'And then')];
  const options = { maxTokens: 20, overflow: 'truncate_middle' } as const;
  const whole = await llama.count({ messages, prefix: '' });
  const end = endOf(await llama.generate({ messages, prefix: '' }, options));
  const { promptTokens, droppedTokens = 0, droppedMessages = 0 } = end;
  assert.ok(promptTokens <= 108 && promptTokens > 60, String(promptTokens));
  assert.is(droppedTokens, whole - promptTokens);
  assert.ok(droppedMessages >= 10 && droppedMessages % 2 === 0, String(droppedMessages));
  const kept = { messages: [messages[0] as (typeof messages)[0], ...messages.slice(1 + droppedMessages)], prefix: '' };
  assert.is(await llama.count(kept), promptTokens);
  // The text is that of the dialog without these messages.
  const [one, other] = [
    await llama.generate({ messages, prefix: '' }, options),
    await llama.generate(kept, { maxTokens: 20 }),
  ];
  assert.is(one.text, other.text);

  const long = { messages: [message('system', 'Lily said yes'), message('user', story.repeat(40))], prefix: '' };
  const cut = endOf(await llama.generate(long, options));
  assert.ok(cut.promptTokens <= 108 && cut.promptTokens > 90, String(cut.promptTokens));
  assert.is(cut.droppedMessages, undefined);
});

test('a prompt of megabytes is cut', async () => {
  await using llama = await TestEngine.load({ contextTokens: 128 });
  const text = story.repeat(30_000);
  const raw = endOf(await llama.generate(text, { maxTokens: 8, overflow: 'truncate_middle' }));
  assert.is(raw.promptTokens, 120);
  const messages = [{ role: 'user', content: text }];
  const dialog = endOf(await llama.generate({ messages, prefix: '' }, { maxTokens: 8, overflow: 'truncate_middle' }));
  assert.ok(dialog.promptTokens <= 120 && dialog.promptTokens > 100, String(dialog.promptTokens));
});

test('a dialog that cannot be cut is refused with both numbers', async () => {
  await using llama = await TestEngine.load({ contextTokens: 64 });
  const parameters = JSON.stringify({ type: 'object', properties: { city: { type: 'string', description: story } } });
  const dialog = {
    messages: [{ role: 'user', content: 'Once' }],
    prefix: '',
    tools: [{ name: 'weather', parameters }],
  };
  const { code, promptTokens, maxTokens } = errorOf(await llama.generate(dialog, { overflow: 'truncate_middle' }));
  assert.equal([code, maxTokens], ['prompt-too-long', 64]);
  assert.is(promptTokens, await llama.count(dialog));
});

test('a model whose context cannot be moved refuses to shift it', async () => {
  const modelPath = join(dirname(tinyModel), 'images.gguf');
  writeTinyLlama(modelPath, { hasImagePositions: true });
  await using llama = await TestEngine.load({ ...small, modelPath });
  assert.is(llama.engine.info.canShift, false);
  assert.throws(() => llama.submit('Once', { overflow: 'shift' }), 'the model cannot take tokens out of the middle');
  const { completionTokens, promptTokens } = endOf(await llama.generate('Once', { maxTokens: 400, ignoreEos: true }));
  assert.is(completionTokens + promptTokens, 64);
});

test('a context that was moved is not kept on disk', async () => {
  const folder = mkdtempSync(join(dirname(tinyModel), 'prompts-'));
  const promptCache = { folder, maxBytes: 1e9, minTokens: 16 };
  const kept = (): number => readdirSync(folder).filter((name) => name.endsWith('.prompt')).length;
  {
    await using llama = await TestEngine.load({ ...small, contextTokens: 128, promptCache });
    endOf(await llama.generate(story, { ...shift, maxTokens: 200 }));
    assert.ok(llama.engine.counts.shifts > 0);
  }
  assert.is(kept(), 0);
  {
    await using llama = await TestEngine.load({ ...small, contextTokens: 128, promptCache });
    endOf(await llama.generate(story.repeat(4), { ...shift, maxTokens: 4 }));
  }
  assert.is(kept(), 1);
});

test('a draft model guesses over a shift', async () => {
  const guesses = { guessedTokensPerStep: 8, draftModelPath: tinyModel, leastGuessProbability: 0 };
  await using llama = await TestEngine.load({ ...small, ...guesses });
  const { text, last } = await llama.generate(story, { ...shift, maxTokens: 300 });
  assert.is(endOf({ last, text, texts: [] }).completionTokens, 300);
  const { acceptedTokens, shifts } = llama.engine.counts;
  assert.ok(acceptedTokens > 50 && shifts > 5, `${acceptedTokens} accepted, ${shifts} shifts`);
});

test('an unknown policy is refused', async () => {
  await using llama = await TestEngine.load();
  for (const overflow of ['drop', 7, null])
    assert.throws(() => llama.submit('Once', { overflow: overflow as unknown as 'shift' }), /overflow/);
});

Overflow.run();
