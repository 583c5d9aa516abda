// The real models with real speech: speech is found by one deployment, and transcribed in these parts by another one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { DeploymentHandle, DeploymentManager } from '../../deployments/index.ts';
import type { CallProgress } from '../../replicas/index.ts';
import { AsrBatchOutput, AsrOutput, type AudioReference, VadSegments } from '../../../base/schemas/index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { longTalk } from '../../../test/helpers/media/clips.ts';
import { makeMedia } from '../../../test/helpers/media/media-files.ts';
import { ffmpegPath, SAMPLE_TEXT, speechPath } from '../../../test/helpers/media/media.ts';
import { wordErrorRate, wordErrors } from '../../../test/helpers/media/word-errors.ts';
import { isLong } from '../../../test/long.ts';
import { skip } from '../../../test/skip.ts';
import { cannotRun, readWav } from '../fixtures/cannot-run.ts';
import { deployed, SampleFiles } from '../fixtures/real-models.ts';

const Vad = suite('voice activity detection, and transcription of its segments');

const RATE = 16_000;
const files = new SampleFiles();
const folder = mkdtempSync(join(tmpdir(), 'aana-vad-'));
let managers: readonly DeploymentManager[] = [];
let vad: DeploymentHandle;
let asr: DeploymentHandle;
let speech: Float32Array = new Float32Array(0);

Vad.before(async () => {
  managers = [
    deployed({ type: 'VadDeployment', user_config: { threads: 2 } }),
    deployed({ type: 'WhisperDeployment', user_config: { model_size: 'tiny.en', threads: 1, max_states: 2 } }),
  ];
  for (const manager of managers) await manager.start();
  [vad = vad, asr = asr] = managers.map((manager): DeploymentHandle => manager.handle('model'));
  [speech = speech] = await readWav(speechPath());
});

Vad.after(async () => {
  for (const manager of managers) await manager.shutdown({ graceMs: 0 });
  await files.remove();
  rmSync(folder, { recursive: true });
});

const silence = (seconds: number): Float32Array => new Float32Array(Math.round(seconds * RATE));
function concat(...parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const detect = async (audio: AudioReference, params = {}): Promise<VadSegments['segments']> =>
  VadSegments.parse(await vad.call('asr_preprocess_vad', { audio, params })).segments;

async function inChunks(args: Readonly<Record<string, unknown>>): Promise<AsrOutput[]> {
  const all: AsrOutput[] = [];
  for await (const batch of asr.stream('transcribe_in_chunks', args))
    all.push(...batch.map((value) => AsrOutput.parse(value)));
  return all;
}
const textOf = (outputs: readonly AsrOutput[]): string => outputs.map(({ transcription: { text } }) => text).join('');

Vad('finds the speech between silences', async () => {
  const audio = await files.write(concat(silence(40), speech, silence(45), speech));
  const segments = await detect(audio);
  assert.is(segments.length, 2);
  for (const [index, begin] of [40, 96].entries()) {
    const { time_interval: at, segments: inner } = segments[index]!;
    assert.ok(at.start >= begin && at.start < begin + 1 && at.end > begin + 9 && at.end <= begin + 11.1);
    assert.ok(inner.length > 1, 'the address has pauses');
    assert.equal([inner[0]?.[0], inner.at(-1)?.[1]], [at.start, at.end]);
    assert.ok(inner.every(([start, end], n) => end > start && start >= (inner[n - 1]?.[1] ?? 0)));
  }
});

Vad('has no segments for silence, and for media without audio', async () => {
  for (const channels of [[silence(3)], [], [silence(0)]])
    assert.equal(await detect(await files.write(...channels)), []);
});

Vad('mixes channels', async () => {
  const [one] = await detect(await files.write(concat(silence(20), speech), silence(1)));
  assert.ok((one?.time_interval.start ?? 0) >= 20);
});

Vad('uses its parameters', async () => {
  const audio = await files.write(concat(speech, speech, speech));
  const spans = (segments: VadSegments['segments']): number[] =>
    segments.map(({ time_interval: { start, end } }) => end - start);
  const speechOf = (segments: VadSegments['segments']): number =>
    segments.flatMap((segment) => segment.segments).reduce((sum, [start, end]) => sum + end - start, 0);
  assert.ok(spans(await detect(audio)).every((span) => span <= 30));
  const short = await detect(audio, { chunk_size: 10 });
  assert.ok(short.length >= 4 && spans(short).every((span) => span <= 10), JSON.stringify(spans(short)));
  const usual = speechOf(await detect(audio));
  assert.ok(speechOf(await detect(audio, { merge_onset: 0.99, merge_offset: 0.98 })) < usual);
  assert.ok(speechOf(await detect(audio, { merge_offset: 0.001 })) > usual);
});

for (const [params, path] of [
  [{ chunk_size: 9 }, 'chunk_size'],
  [{ merge_onset: -1 }, 'merge_onset'],
  [{ merge_onset: 0.2, merge_offset: 0.3 }, 'merge_offset'],
  [{ onset: 0.5 }, 'onset'],
] as const) {
  Vad(`refuses ${JSON.stringify(params)}`, async () => {
    const error = await errorOf(detect(await files.write(speech), params));
    assert.is(error.kind, 'invalid-input');
    assert.match(JSON.stringify([error.message, error.data]), path);
  });
}

Vad('takes other settings while it runs, and reports its progress', async () => {
  const audio = await files.write(concat(...Array.from({ length: 9 }, () => speech)));
  const fractions: number[] = [];
  const onProgress = ({ fraction = 0 }: CallProgress): void => void fractions.push(fraction);
  await vad.call('asr_preprocess_vad', { audio }, { onProgress });
  assert.ok(fractions.length > 2 && fractions.at(-1) === 1, String(fractions));
  const before = await detect(audio);
  const strict = { type: 'VadDeployment', user_config: { threads: 2, onset: 0.995, offset: 0.99 } };
  await managers[0]?.update('model', strict);
  assert.not.equal(await detect(audio), before);
  await managers[0]?.update('model', { type: 'VadDeployment', user_config: { threads: 2 } });
  assert.equal(await detect(audio), before);
});

async function talkIsTheSame(): Promise<void> {
  const talk = await longTalk(folder);
  if (typeof talk === 'string') return skip('voice activity detection: a talk has nearly the same words', talk);
  const wav = await makeMedia(
    ffmpegPath(),
    join(folder, 'talk.wav'),
    '-i',
    talk.path,
    '-ac',
    '1',
    '-ar',
    '16000',
    '-bitexact',
  );
  const [samples = new Float32Array(0)] = await readWav(wav);
  const audio = await files.write(samples);
  const whole = AsrOutput.parse(await asr.call('transcribe', { audio })).transcription.text;
  assert.ok(wordErrorRate(talk.text, whole) < 0.1);
  const segments = await detect(audio);
  const parts = segments.map(({ time_interval: { start, end } }) =>
    samples.slice(Math.round(start * RATE), Math.round(end * RATE)),
  );
  const batch = AsrBatchOutput.parse(
    await asr.call('transcribe_batch', { audio_batch: await Promise.all(parts.map((part) => files.write(part))) }),
  );
  const given = await inChunks({ audio, vad_segments: segments });
  const found = await inChunks({ audio, batch_size: 1 });
  const rate = wordErrorRate(talk.text, whole);
  for (const [how, text] of [
    ['in chunks of found speech', textOf(found)],
    ['in given chunks', textOf(given)],
    ['in a batch', batch.transcription.map(({ text: each }) => each).join('')],
  ] as const)
    assert.ok(
      Math.abs(wordErrorRate(talk.text, text) - rate) <= 0.01,
      `${how}: ${wordErrorRate(talk.text, text)}, whole: ${rate}`,
    );
  // Without times of its own, a segment of text has those of the chunk.
  for (const {
    segments: [segment],
  } of given) {
    const { start = -1, end = -1 } = segment?.time_interval ?? {};
    assert.ok(segments.some(({ time_interval: at }) => start >= at.start - 0.01 && end <= at.end + 0.01));
  }
}
if (isLong)
  Vad(
    'a talk has nearly the same words whole, in chunks of found speech, in given chunks, and in a batch',
    talkIsTheSame,
  );

Vad('a batch keeps its order, and has the answer of silence where nobody speaks', async () => {
  const audios = [speech, silence(2), concat(silence(3), speech)];
  const {
    segments,
    transcription_info: infos,
    transcription: texts,
  } = AsrBatchOutput.parse(
    await asr.call('transcribe_batch', { audio_batch: await Promise.all(audios.map((each) => files.write(each))) }),
  );
  assert.equal([infos.map(({ language }) => language), texts[1]?.text, segments[1]], [['en', 'silence', 'en'], '', []]);
  assert.is(wordErrors(SAMPLE_TEXT, texts[0]?.text ?? ''), 0);
  assert.ok((segments[0]?.[0]?.time_interval.start ?? 9) < 1 && (segments[2]?.[0]?.time_interval.start ?? 0) > 2);
  assert.equal(await asr.call('transcribe_batch', { audio_batch: [] }), {
    segments: [],
    transcription_info: [],
    transcription: [],
  });
});

Vad('given chunks select what is transcribed', async () => {
  const audio = await files.write(concat(speech, speech));
  const second = { time_interval: { start: 11, end: 22 }, segments: [] };
  const outputs = await inChunks({ audio, vad_segments: [second], params: { without_timestamps: false } });
  assert.is(wordErrors(SAMPLE_TEXT, textOf(outputs)), 0);
  assert.ok(outputs.every(({ segments: [segment] }) => (segment?.time_interval.start ?? 0) >= 11));
  const nothing = [{ ...second, time_interval: { start: 30, end: 40 } }];
  for (const vad_segments of [[], nothing])
    assert.equal(
      (await inChunks({ audio, vad_segments })).map(({ transcription_info: { language } }) => language),
      ['silence'],
    );
});

for (const [args, path] of [
  [{ vad_segments: [{ time_interval: { start: 2, end: 1 }, segments: [] }] }, 'vad_segments'],
  [{ vad_segments: [{ start: 2, end: 1 }] }, 'vad_segments'],
  [{ batch_size: 0 }, 'batch_size'],
  [{ params: { vad_filter: true } }, 'vad_filter'],
] as const) {
  Vad(`chunks refuse ${JSON.stringify(args)}`, async () => {
    const error = await errorOf(inChunks({ audio: await files.write(speech), ...args }));
    assert.is(error.kind, 'invalid-input');
    assert.match(JSON.stringify([error.message, error.data]), path);
  });
}

if (cannotRun === undefined) Vad.run();
else skip('voice activity detection, and transcription of its segments', cannotRun);
