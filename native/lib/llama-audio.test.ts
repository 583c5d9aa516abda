// Audio in prompts, with tiny models whose encoders read audio alone or beside images.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LlamaAudio } from './binding/index.ts';
import { endOf, errorOf, isBuilt, sharedCells, TestEngine } from './fixtures/test-engine.ts';
import { asked, seeing, soundOf, testImage, testSound } from './fixtures/test-images.ts';
import {
  IMAGE_TOKENS,
  type ProjectorSenses,
  SOUND_RATE,
  WINDOW_SECONDS,
  WINDOW_TOKENS,
} from './fixtures/tiny-projector.ts';

const SENSES: readonly ProjectorSenses[] = ['ultravox', 'qwen2vl+ultravox'];
const QUESTION = 'Once upon a time';
const speech = testSound(1);
const music = testSound(2);

const Audio = suite('audio in prompts');

for (const senses of SENSES)
  Audio(`an answer depends on the audio, whose tokens are counted (${senses})`, async () => {
    await using llama = await TestEngine.load(seeing(senses));
    assert.is(llama.engine.info.readsAudio, true);
    assert.is(llama.engine.info.audioWindowTokens, WINDOW_TOKENS - 1);
    assert.is(llama.engine.info.readsImages, senses !== 'ultravox');
    const first = await llama.generate(asked(speech, QUESTION));
    const second = await llama.generate(asked(music, QUESTION));
    const again = await llama.generate(asked(speech, QUESTION));
    const deaf = await llama.generate(asked(QUESTION));
    assert.is(again.text, first.text);
    assert.is.not(second.text, first.text);
    assert.is.not(deaf.text, first.text);
    assert.is(endOf(first).audioTokens, WINDOW_TOKENS);
    assert.is(endOf(deaf).audioTokens, undefined);
    assert.ok(endOf(first).promptTokens - endOf(deaf).promptTokens >= WINDOW_TOKENS);
    assert.is(await llama.count(asked(speech, QUESTION)), endOf(first).promptTokens);
    assert.is(endOf(await llama.generate(asked(speech, QUESTION), { maxTokens: 0 })).audioTokens, WINDOW_TOKENS);
  });

for (const senses of SENSES)
  Audio(`chunks of a prompt and other sequences do not change an answer (${senses})`, async () => {
    const dialogs = [
      asked(speech, QUESTION),
      asked('The cat', music, 'and', speech, 'ran'),
      asked(testSound(3, 31 * SOUND_RATE)),
    ];
    const alone: string[] = [];
    {
      await using llama = await TestEngine.load(seeing(senses));
      for (const dialog of dialogs) alone.push((await llama.generate(dialog, { maxTokens: 8 })).text);
    }
    await using llama = await TestEngine.load({ ...seeing(senses), prefillTokensPerStep: 5, maxSequences: 3 });
    const ids = dialogs.map((dialog) => llama.submit(dialog, { maxTokens: 8 }));
    const texts: string[] = [];
    for (const id of ids) texts.push((await llama.finish(id)).text);
    assert.equal(texts, alone);
  });

for (const senses of SENSES)
  Audio(`what was computed for a whole sound is reused for the same sound only (${senses})`, async () => {
    await using llama = await TestEngine.load({ ...seeing(senses), totalCells: sharedCells });
    const prompt = endOf(await llama.generate(asked('The cat', speech, QUESTION))).promptTokens;
    assert.is(endOf(await llama.generate(asked('The cat', speech, QUESTION))).reusedTokens, prompt - 1);
    const other = endOf(await llama.generate(asked('The cat', music, QUESTION)));
    assert.ok(other.reusedTokens > 0 && other.reusedTokens <= prompt - WINDOW_TOKENS, `${other.reusedTokens}`);
  });

Audio('images and audio stand in one prompt, in any order', async () => {
  for (const senses of ['mlp+ultravox', 'qwen2vl+ultravox'] as const) {
    await using llama = await TestEngine.load(seeing(senses));
    const image = testImage(1);
    const texts = new Set<string>();
    for (const parts of [
      [image, speech, QUESTION],
      [speech, image, QUESTION],
      [image, testImage(2), speech, music, QUESTION],
      [speech, music, testImage(2), image, QUESTION],
    ] as const) {
      const answer = await llama.generate(asked(...parts), { maxTokens: 16 });
      const n = parts.filter((part) => typeof part === 'object' && 'samples' in part).length;
      assert.is(endOf(answer).audioTokens, n * WINDOW_TOKENS, senses);
      assert.ok(endOf(answer).promptTokens >= n * (WINDOW_TOKENS + IMAGE_TOKENS));
      texts.add(answer.text);
    }
    assert.ok(texts.size >= 3, `${texts.size} different answers`);
  }
});

Audio('audio of every length is read', async () => {
  await using llama = await TestEngine.load(seeing('ultravox'));
  const window = WINDOW_SECONDS * SOUND_RATE;
  for (const [samples, windows] of [
    [1, 1],
    [159, 1],
    [window - SOUND_RATE, 1],
    // llama.cpp adds a window of silence to a whole one.
    [window, 2],
    [window + 1, 2],
  ] as const) {
    const answer = await llama.generate(asked(testSound(4, samples), QUESTION), { maxTokens: 2 });
    assert.is(endOf(answer).audioTokens, windows * WINDOW_TOKENS, `${samples} samples`);
  }
});

Audio('silence, noise and samples beyond the range are audio', async () => {
  await using llama = await TestEngine.load(seeing('ultravox'));
  for (const samples of [
    new Float32Array(SOUND_RATE),
    Float32Array.from({ length: SOUND_RATE }, (_, at) => Math.sin(at * at)),
    new Float32Array(SOUND_RATE).fill(3e38),
  ])
    assert.is(endOf(await llama.generate(asked(soundOf(samples), QUESTION), { maxTokens: 4 })).completionTokens, 4);
});

Audio('audio that does not fit is refused before it is read', async () => {
  await using llama = await TestEngine.load({ ...seeing('ultravox'), contextTokens: 64 });
  const minutes = (n: number): LlamaAudio => soundOf(new Float32Array(60 * n * SOUND_RATE));
  for (const n of [3, 60]) {
    const error = errorOf(await llama.generate(asked(minutes(n), QUESTION)));
    assert.is(error.code, 'prompt-too-long');
    assert.is(error.fault, 'caller');
    assert.ok(error.promptTokens >= 64 && error.promptTokens <= 2 * n * WINDOW_TOKENS + 8, `${error.promptTokens}`);
  }
  assert.is(endOf(await llama.generate(asked(speech, QUESTION), { maxTokens: 2 })).completionTokens, 2);
});

Audio('what a prompt with audio cannot have is refused', async () => {
  await using deaf = await TestEngine.load(seeing('mlp'));
  assert.equal([deaf.engine.info.readsAudio, deaf.engine.info.audioWindowTokens], [false, 0]);
  assert.match(errorOf(await deaf.generate(asked(speech))).message, /no encoder for audio/);
  await using llama = await TestEngine.load(seeing('ultravox'));
  assert.match(errorOf(await llama.generate(asked(testImage(1)))).message, /no encoder for images/);
  for (const [changes, message] of [
    [{ overflow: 'shift' }, /leave out overflow/],
    [{ promptLogprobs: 1 }, /leave out prompt_logprobs/],
    [{ reproducible: true }, /leave out reproducible/],
  ] as const)
    assert.match(errorOf(await llama.generate(asked(speech, QUESTION), changes as object)).message, message);
  const submit = (audio: object) => () => llama.submit(asked(audio as LlamaAudio));
  assert.throws(submit({ ...speech, samples: new Float32Array() }), /no samples/);
  assert.throws(submit({ ...speech, samples: Float32Array.of(0, Number.NaN) }), /not finite/);
  assert.throws(submit({ ...speech, samples: [0] }), /samples of audio is not a Float32Array/);
  assert.throws(submit({ ...speech, digest: new Uint8Array(3) }), /digest of audio has 3 bytes/);
  assert.is(endOf(await llama.generate(asked(speech, QUESTION))).completionTokens, 32);
});

Audio('cancelled requests end, also while their audio is encoded, and the engine goes on', async () => {
  await using llama = await TestEngine.load(seeing('ultravox'));
  const wanted = (await llama.generate(asked(speech, QUESTION))).text;
  for (let round = 0; round < 2; round += 1) {
    const ids = [1, 2].map((n) => llama.submit(asked(testSound(10 * round + n, 40 * SOUND_RATE), QUESTION)));
    for (const id of ids) llama.engine.cancel(id);
    for (const id of ids) assert.is(endOf(await llama.finish(id)).reason, 'cancelled');
  }
  assert.is((await llama.generate(asked(speech, QUESTION))).text, wanted);
  const open = [1, 2].map((n) => llama.submit(asked(testSound(n + 50), QUESTION)));
  await llama.engine.close();
  for (const id of open) assert.ok(['end', 'error'].includes((await llama.finish(id)).last.type));
});

if (isBuilt) Audio.run();
else console.log('audio in prompts: skipped, because the addon is not built');
