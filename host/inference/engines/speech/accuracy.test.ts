// The words and times that a real multilingual model hears in real speech.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { DeploymentManager } from '../../deployments/index.ts';
import { AsrBatchOutput, AsrOutput, type AudioReference } from '../../../base/schemas/index.ts';
import { longTalk } from '../../../test/helpers/media/clips.ts';
import { SPOKEN, type Voice } from '../../../test/helpers/media/conversations.ts';
import { makeMedia } from '../../../test/helpers/media/media-files.ts';
import { ffmpegPath } from '../../../test/helpers/media/media.ts';
import { wordErrorRate, wordErrors, words } from '../../../test/helpers/media/word-errors.ts';
import { isLong } from '../../../test/long.ts';
import { skip } from '../../../test/skip.ts';
import { readWav } from '../fixtures/cannot-run.ts';
import { deployed, SampleFiles, voicesForWhisper } from '../fixtures/real-models.ts';

const Accuracy = suite('the accuracy of a multilingual model');

const ENGLISH = ['kennedy', 'nature', 'snack', 'rainbow'] as const;
const RATE = 16_000;
const files = new SampleFiles();
const folder = mkdtempSync(join(tmpdir(), 'aana-accuracy-'));
let manager: DeploymentManager;
let clips: ReadonlyMap<Voice, Float32Array> = new Map();

const clip = (voice: Voice): Promise<AudioReference> => files.write(clips.get(voice)!);

const transcribe = async (audio: AudioReference, params: object = {}): Promise<AsrOutput> =>
  AsrOutput.parse(await manager.handle('model').call('transcribe', { audio, params }));

/** Chinese has no spaces between words, so its characters count. */
const characters = (text: string): string => [...words(text).join('')].join(' ');

Accuracy.before(async () => {
  manager = deployed({ type: 'WhisperDeployment', user_config: { model_size: 'base', threads: 1 } });
  await manager.start();
});
Accuracy.after(async () => {
  await manager?.shutdown({ graceMs: 0 });
  await files.remove();
  rmSync(folder, { recursive: true });
});

for (const beam_size of isLong ? [1, 5] : [1])
  Accuracy(`hears the language and the words of four speakers with beam_size ${beam_size}`, async () => {
    const heard: string[] = [];
    for (const voice of ENGLISH) {
      const { transcription, transcription_info: info } = await transcribe(await clip(voice), { beam_size });
      assert.is(info.language, 'en');
      assert.ok(info.language_confidence > 0.6, `${voice}: ${info.language_confidence}`);
      heard.push(transcription.text);
    }
    // Of 73 words. One is whether "colored" has a "u".
    const errors = wordErrors(ENGLISH.map((voice) => SPOKEN[voice]).join(' '), heard.join(' '));
    assert.ok(errors <= 2, `${errors} errors: ${heard.join(' ')}`);
  });

Accuracy('hears the language and the characters of Chinese', async () => {
  // The prompt asks for the simplified characters in which the text is.
  const params = { initial_prompt: '以下是普通话的句子。' };
  const { transcription, transcription_info: info } = await transcribe(await clip('chinese'), params);
  assert.is(info.language, 'zh');
  const [spoken, heard] = [characters(SPOKEN.chinese), characters(transcription.text)];
  assert.ok(wordErrors(spoken, heard) <= 4, `of ${spoken}: ${heard}`);
});

Accuracy('translates Chinese', async () => {
  const params = { task: 'translate', beam_size: 1 };
  const { transcription, transcription_info: info } = await transcribe(await clip('chinese'), params);
  assert.is(info.language, 'zh');
  // The model leaves a name as it is on some processors.
  const letters = transcription.text.match(/\p{L}/gu) ?? [];
  const english = letters.filter((letter) => /[a-z]/i.test(letter)).length;
  assert.ok(letters.length > 10 && english / letters.length > 0.8, transcription.text);
});

Accuracy('falls back to the next temperature from a text that is unlikely', async () => {
  const voices: readonly Voice[] = isLong ? ['nature', 'snack', 'chinese'] : ['nature'];
  const textOf = async (voice: Voice, params: object): Promise<string> =>
    (await transcribe(await clip(voice), { beam_size: 1, best_of: 1, ...params })).transcription.text;
  const texts = async (params: object): Promise<string> =>
    (await Promise.all(voices.map((voice) => textOf(voice, params)))).join('');
  const greedy = await texts({ temperature: 0 });
  assert.is.not(await texts({ temperature: 1 }), greedy);
  // No text is certain, so none of temperature 1 is kept.
  assert.is(await texts({ temperature: [1, 0], log_prob_threshold: 0 }), greedy);
  assert.is(await texts({ temperature: [0, 1], log_prob_threshold: -100, compression_ratio_threshold: 100 }), greedy);
});

/** Ends of words in seconds, as faster-whisper 1.2.1 finds them with the same model (32-bit floats, beam_size 5). */
const ENDS: Readonly<Partial<Record<Voice, readonly number[]>>> = {
  kennedy: [
    0.52, 0.84, 1.2, 1.56, 2.1, 3.74, 4.24, 5.52, 5.76, 6.24, 6.62, 6.82, 7.08, 7.34, 8.48, 8.76, 9.04, 9.32, 9.56,
    9.78, 9.94, 10.36,
  ],
  rainbow: [
    0.92, 1.2, 1.44, 1.54, 1.8, 2.22, 2.82, 3.22, 3.4, 3.64, 3.86, 3.94, 4.18, 4.84, 5, 5.22, 5.36, 5.48, 5.76, 6.06,
    6.66, 6.94, 7.06, 7.36, 7.62, 7.76, 8.06, 8.56,
  ],
  chinese: [6.2],
};

const timed = Object.entries(ENDS) as [Voice, readonly number[]][];
for (const [voice, ends] of isLong ? timed : timed.slice(0, 1))
  Accuracy(`finds the times of the words of ${voice} as faster-whisper does`, async () => {
    const { segments } = await transcribe(await clip(voice), { word_timestamps: true });
    const found = segments.flatMap((segment) => segment.words.map(({ time_interval: at }) => at.end));
    const compared = found.slice(-ends.length);
    const far = compared.flatMap((end, at) =>
      Math.abs(end - ends[at]!) <= 0.5 ? [] : [`${at}: ${end}, not ${ends[at]}`],
    );
    assert.is(compared.length, ends.length);
    assert.equal(far, []);
  });

async function talkIsAccurate(): Promise<void> {
  const talk = await longTalk(folder);
  if (typeof talk === 'string') return skip('the accuracy of a talk', talk);
  const format = ['-ac', '1', '-ar', String(RATE), '-bitexact'];
  const wav = await makeMedia(ffmpegPath(), join(folder, 'talk.wav'), '-i', talk.path, ...format);
  const [samples = new Float32Array(0)] = await readWav(wav);
  const audio = await files.write(samples);
  const params = { beam_size: 1 };
  const whole = wordErrorRate(
    talk.text,
    (await transcribe(audio, { ...params, vad_filter: false })).transcription.text,
  );
  assert.ok(whole <= 0.03, `whole: ${whole}`);

  const chunks: AsrOutput[] = [];
  for await (const outputs of manager.handle('model').stream('transcribe_in_chunks', { audio, params }))
    chunks.push(...outputs.map((output) => AsrOutput.parse(output)));
  // Without times of its own, a segment of text has those of its chunk.
  const parts = chunks.flatMap(({ segments }) =>
    segments.map(({ time_interval: { start, end } }) =>
      files.write(samples.slice(Math.round(start * RATE), Math.round(end * RATE))),
    ),
  );
  assert.ok(parts.length >= 6, `${parts.length} chunks`);
  const call = { audio_batch: await Promise.all(parts), params: { ...params, language: 'en' } };
  const batch = AsrBatchOutput.parse(await manager.handle('model').call('transcribe_batch', call));
  for (const [how, texts] of [
    ['in chunks', chunks.map(({ transcription }) => transcription.text)],
    ['in a batch', batch.transcription.map(({ text }) => text)],
  ] as const) {
    const rate = wordErrorRate(talk.text, texts.join(''));
    assert.ok(rate <= whole + 0.01, `${how}: ${rate}, whole: ${whole}`);
  }
}
if (isLong) Accuracy('has no more wrong words of a talk in chunks and in a batch than of the whole', talkIsAccurate);

const voices = await voicesForWhisper(folder);
if (typeof voices === 'string') {
  skip('the accuracy of a multilingual model', voices);
  rmSync(folder, { recursive: true });
} else {
  clips = voices;
  Accuracy.run();
}
