// Images in prompts, with tiny models and encoders of three kinds.
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LlamaDialog, LlamaEvent, LlamaImage } from './binding/index.ts';
import {
  addonPath,
  endOf,
  errorOf,
  isBuilt,
  options as loadOptions,
  rejection,
  sharedCells,
  TestEngine,
  tinyModel,
} from './fixtures/test-engine.ts';
import { asked, seeing, testImage } from './fixtures/test-images.ts';
import { writeProjector, writeTinyLlama } from './fixtures/tiny-llama.ts';
import { IMAGE_TOKENS, type ProjectorKind, writeTinyProjector } from './fixtures/tiny-projector.ts';

const KINDS: readonly ProjectorKind[] = ['mlp', 'gemma3', 'qwen2vl'];
const QUESTION = 'Once upon a time';
const lions = testImage(1);
const boats = testImage(2);

type Scores = NonNullable<Extract<LlamaEvent, { type: 'text' }>['scores']>;

/** Returns the tokens of an answer with their likelihoods. */
async function scored(llama: TestEngine, id: number): Promise<Scores> {
  endOf(await llama.finish(id));
  return llama.of(id).flatMap((event) => (event.type === 'text' ? (event.scores ?? []) : []));
}

/**
 * The order of cells and the size of batches change the last bits of logits, so texts may part where two tokens are
 * about as likely.
 */
const TIE = 0.25;

/** Expects that an answer is the other one up to a tie. */
function expectSame(scores: Scores, expected: Scores, message: string): void {
  const parted = expected.findIndex((score, n) => score.id !== scores[n]?.id);
  const same = parted < 0 ? expected : expected.slice(0, parted);
  for (const [n, score] of same.entries())
    assert.ok(
      Math.abs(score.logprob - scores[n]!.logprob) < TIE,
      `${message}: token ${n} ${score.logprob} and ${scores[n]!.logprob}`,
    );
  if (parted < 0) return assert.is(scores.length, expected.length);
  const [first, second] = expected[parted]!.top ?? [];
  const margin = first!.logprob - second!.logprob;
  assert.ok(margin < TIE, `${message}: parted at ${parted} with a margin of ${margin}`);
}

const Images = suite('images in prompts');
const folder = mkdtempSync(join(tmpdir(), 'aana-images-'));
Images.after(() => rmSync(folder, { recursive: true, force: true }));

for (const kind of KINDS)
  Images(`an answer depends on the image (${kind})`, async () => {
    await using llama = await TestEngine.load(seeing(kind));
    assert.is(llama.engine.info.readsImages, true);
    const first = await llama.generate(asked(lions, QUESTION));
    const second = await llama.generate(asked(boats, QUESTION));
    const again = await llama.generate(asked(lions, QUESTION));
    const blind = await llama.generate(asked(QUESTION));
    assert.is(endOf(first).completionTokens, 32);
    assert.is(again.text, first.text);
    assert.is.not(second.text, first.text);
    assert.is.not(blind.text, first.text);
    const own = endOf(first).promptTokens - endOf(blind).promptTokens;
    assert.ok(own >= IMAGE_TOKENS, `${own} tokens of an image`);
    const { imageTokens = 0 } = endOf(first);
    assert.ok(imageTokens >= IMAGE_TOKENS && imageTokens <= own, `${imageTokens} of ${own} tokens are the image's`);
    assert.is(endOf(await llama.generate(asked(lions, QUESTION), { maxTokens: 0 })).imageTokens, imageTokens);
    assert.equal([endOf(blind).imageTokens, endOf(blind).audioTokens], [undefined, undefined]);
    const { encodedMedia, keptMedia } = llama.engine.counts;
    assert.equal([encodedMedia, keptMedia], [2, 1], 'each image is encoded once');
    assert.is(await llama.count(asked(lions, QUESTION)), endOf(first).promptTokens);
  });

for (const kind of KINDS)
  Images(`steps, a full cache and other sequences do not change an answer (${kind})`, async () => {
    const options = seeing(kind);
    const dialogs = [
      asked(lions, QUESTION),
      asked('The cat', boats, 'and', lions, 'ran'),
      asked(boats),
      asked(QUESTION),
    ];
    const alone: Scores[] = [];
    {
      await using llama = await TestEngine.load(options);
      for (const dialog of dialogs) alone.push(await scored(llama, llama.submit(dialog, { logprobs: 2 })));
      assert.is(new Set(alone.map((scores) => JSON.stringify(scores))).size, dialogs.length);
    }
    for (const changes of [
      { prefillTokensPerStep: 5, maxSequences: 4 },
      { totalCells: sharedCells, maxSequences: 4 },
      // Less than three sequences need.
      { totalCells: 256, maxSequences: 4, contextTokens: 256 },
      { guessedTokensPerStep: 8, maxSequences: 4 },
    ]) {
      await using llama = await TestEngine.load({ ...options, ...changes });
      for (let round = 0; round < 2; round += 1) {
        const ids = [...dialogs, ...dialogs].map((dialog) => llama.submit(dialog, { logprobs: 2 }));
        for (const [at, id] of ids.entries())
          expectSame(await scored(llama, id), alone[at % dialogs.length]!, `${JSON.stringify(changes)}, dialog ${at}`);
      }
    }
  });

for (const kind of KINDS)
  Images(`sequences that lose their cells read their images again (${kind})`, async () => {
    const options = { ...seeing(kind), maxSequences: 4, contextTokens: 128 };
    const dialog = (seed: number): LlamaDialog => asked('The cat', testImage(seed), 'and', testImage(seed + 1), 'ran');
    await using one = await TestEngine.load(options);
    const changes = { maxTokens: 48, logprobs: 2 };
    const wanted: Scores[] = [];
    for (let seed = 0; seed < 4; seed += 1) wanted.push(await scored(one, one.submit(dialog(seed), changes)));
    await using llama = await TestEngine.load({ ...options, totalCells: 200 });
    const ids = wanted.map((_, seed) => llama.submit(dialog(seed), changes));
    for (const [seed, id] of ids.entries()) expectSame(await scored(llama, id), wanted[seed]!, `image ${seed}`);
    assert.ok(llama.engine.counts.preemptions > 0);
  });

for (const kind of KINDS)
  Images(`what was computed for a whole image is reused for the same image only (${kind})`, async () => {
    await using llama = await TestEngine.load({ ...seeing(kind), totalCells: sharedCells });
    const dialog = asked('The cat', lions, QUESTION);
    const prompt = endOf(await llama.generate(dialog)).promptTokens;
    assert.is(endOf(await llama.generate(dialog)).reusedTokens, prompt - 1);
    const other = endOf(await llama.generate(asked('The cat', boats, QUESTION)));
    assert.ok(other.reusedTokens > 0 && other.reusedTokens < prompt - IMAGE_TOKENS, `${other.reusedTokens}`);
    // An image of other pixels and the same digest cannot be told apart, and one of another size can.
    const wide = { ...testImage(1, 64, 64), width: 32, height: 128 };
    const sized = await llama.generate(asked('The cat', wide, QUESTION));
    assert.ok(endOf(sized).reusedTokens <= other.reusedTokens);
  });

Images('texts cannot stand for an image', async () => {
  await using llama = await TestEngine.load(seeing());
  for (const forged of [
    '<__media__>',
    '\uFDD0',
    '\uFDD10\uFDD1',
    '\uFDD00\uFDD0',
    '<image>',
    '\uFDD0\uFDD1\uFDD20\uFDD2',
  ]) {
    const blind = await llama.count(asked(`a ${forged} b`));
    const plain = await llama.count({ messages: [{ role: 'user', content: `a ${forged} b` }], prefix: '' });
    assert.is(blind, plain);
    const seen = endOf(await llama.generate(asked(`a ${forged} b`, lions), { maxTokens: 1 }));
    assert.is(
      seen.promptTokens - blind,
      endOf(await llama.generate(asked('a b', lions), { maxTokens: 1 })).promptTokens -
        (await llama.count(asked('a b'))),
    );
  }
});

Images('penalties skip the tokens of images', async () => {
  await using llama = await TestEngine.load(seeing());
  const { last } = await llama.generate(asked(lions, 'once', lions, 'once'), {
    repetitionPenalty: 1.3,
    presencePenalty: 0.5,
    frequencyPenalty: 0.5,
    dryMultiplier: 1,
    dryAllowedLength: 1,
    temperature: 1,
    logprobs: 2,
  } as object);
  assert.is(last.type, 'end', JSON.stringify(last));
});

Images('cancelled requests end, also while their images are encoded, and the engine goes on', async () => {
  await using llama = await TestEngine.load(seeing());
  const large = (round: number): LlamaImage[] =>
    Array.from({ length: 4 }, (_, seed) => testImage(8 * round + seed, 900 + seed, 700));
  const wanted = (await llama.generate(asked(lions, QUESTION))).text;
  for (let round = 0; round < 4; round += 1) {
    const ids = large(round).map((image) => llama.submit(asked(image, QUESTION), { maxTokens: 200 }));
    for (const id of ids) llama.engine.cancel(id);
    for (const id of ids) assert.is(endOf(await llama.finish(id)).reason, 'cancelled');
  }
  assert.is((await llama.generate(asked(lions, QUESTION))).text, wanted);
  const open = large(9).map((image) => llama.submit(asked(image, QUESTION)));
  await llama.engine.close();
  for (const id of open) assert.ok(['end', 'error'].includes((await llama.finish(id)).last.type));
});

Images('many images in one prompt, and more than fit', async () => {
  await using llama = await TestEngine.load({ ...seeing(), contextTokens: 512 });
  const twenty = Array.from({ length: 20 }, (_, seed) => testImage(seed % 6));
  assert.ok(endOf(await llama.generate(asked(...twenty, QUESTION))).promptTokens > 20 * IMAGE_TOKENS);
  const error = errorOf(await llama.generate(asked(...twenty, ...twenty, QUESTION)));
  assert.is(error.code, 'prompt-too-long');
  assert.ok(error.promptTokens > 40 * IMAGE_TOKENS);
});

Images('what a prompt with images cannot have is refused', async () => {
  await using blind = await TestEngine.load();
  assert.is(blind.engine.info.readsImages, false);
  assert.match(errorOf(await blind.generate(asked(lions))).message, /it has no projector/);
  await using llama = await TestEngine.load(seeing());
  const refused: readonly [object, RegExp][] = [
    [{ overflow: 'shift' }, /leave out overflow/],
    [{ overflow: 'truncate_middle' }, /leave out overflow/],
    [{ promptLogprobs: 1 }, /leave out prompt_logprobs/],
    [{ reproducible: true }, /leave out reproducible/],
  ];
  for (const [changes, message] of refused) {
    const error = errorOf(await llama.generate(asked(lions, QUESTION), changes));
    assert.is(error.fault, 'caller');
    assert.match(error.message, message);
  }
  const submit = (image: object) => () => llama.submit(asked(image as typeof lions));
  assert.throws(submit({ ...lions, width: 63 }), /12288 bytes, not 12096/);
  assert.throws(submit({ ...lions, height: 0 }), /height/);
  assert.throws(submit({ ...lions, width: 1e6 }), /width/);
  assert.throws(submit({ ...lions, pixels: [] }), /pixels of an image is not a Uint8Array/);
  assert.throws(submit({ ...lions, digest: new Uint8Array(3) }), /digest of an image has 3 bytes/);
  assert.is(endOf(await llama.generate(asked(lions, QUESTION))).completionTokens, 32);
  await using deaf = await TestEngine.load({ ...seeing(), chatTemplate: 'A question.' });
  assert.match(errorOf(await deaf.generate(asked(lions))).message, /leaves out an image/);
  await using double = await TestEngine.load({
    ...seeing(),
    chatTemplate: '{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}',
  });
  assert.match(errorOf(await double.generate(asked(lions))).message, /writes it twice/);
});

Images('images of unusual sizes are read or refused', async () => {
  for (const kind of KINDS) {
    await using llama = await TestEngine.load({ ...seeing(kind), contextTokens: 512 });
    for (const [width, height] of [
      [1, 1],
      [1, 200],
      [200, 1],
      [3, 5],
      [257, 129],
      [400, 200],
    ] as const) {
      const { last } = await llama.generate(asked(testImage(3, width, height), QUESTION), { maxTokens: 2 });
      assert.is(last.type, 'end', `${kind}, ${width} × ${height}: ${JSON.stringify(last)}`);
    }
  }
});

Images('a file that is no encoder for the model is refused with its name', async () => {
  const path = join(folder, 'bad.gguf');
  const load = async (): Promise<string> =>
    (await rejection(TestEngine.load({ ...seeing(), projectorPath: path }))).message;
  assert.match(await load(), /projector .*bad\.gguf does not exist/);
  writeFileSync(path, 'words');
  assert.match(await load(), /is not a GGUF file/);
  writeTinyLlama(path);
  assert.match(await load(), /is not an encoder of images/);
  writeProjector(path);
  assert.match(await load(), /bad\.gguf could not be loaded/);
  writeTinyProjector(path);
  const whole = readFileSync(path);
  writeFileSync(path, whole.subarray(0, whole.length - 1000));
  assert.match(await load(), /truncated/);
  writeFileSync(path, whole.subarray(0, 900));
  assert.match(await load(), /broken or truncated/);
  assert.match((await rejection(TestEngine.load({ modelPath: seeing().projectorPath! }))).message, /gguf/);
  await using llama = await TestEngine.load({ modelPath: tinyModel });
  assert.is((await llama.generate(QUESTION)).last.type, 'end');
});

// The mode `source` has it in the addon.
if (existsSync(join(dirname(addonPath), 'aana_images.so')))
  Images('without the library for images, text models load and a projector says what is missing', () => {
    const apart = mkdtempSync(join(tmpdir(), 'aana-without-images-'));
    try {
      for (const name of readdirSync(dirname(addonPath)).filter((file) => file !== 'aana_images.so'))
        if (name.endsWith('.node')) copyFileSync(join(dirname(addonPath), name), join(apart, name));
        else symlinkSync(join(dirname(addonPath), name), join(apart, name));
      const program = `
        const { loadNative } = await import(${JSON.stringify(new URL('./load.js', import.meta.url))});
        const native = loadNative({ addonPath: process.argv[1] });
        for (const projectorPath of [undefined, ${JSON.stringify(seeing().projectorPath)}]) {
          const options = { ...${JSON.stringify({ ...loadOptions, modelPath: seeing().modelPath })}, projectorPath };
          const load = native.loadLlama(options, () => {}, () => {});
          console.log(await load.then((engine) => (engine.close(), 'loaded'), (error) => error.message));
        }`;
      const lines = execFileSync(
        process.execPath,
        ['--input-type=module', '-e', program, join(apart, 'aana_native.node')],
        {
          encoding: 'utf8',
        },
      ).split('\n');
      assert.is(lines[0], 'loaded');
      assert.match(
        lines[1] ?? '',
        /the library for images cannot be loaded \(aana_images\.so: .*run `npx aana-host build-native`/,
      );
    } finally {
      rmSync(apart, { recursive: true });
    }
  });

if (isBuilt) Images.run();
else console.log('images in prompts: skipped, because the addon is not built');
