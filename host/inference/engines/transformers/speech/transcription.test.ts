// Speech to text with Transformers.js in a replica: Moonshine tiny with its real 8-bit weights.
import { mkdtemp, rm } from 'node:fs/promises';
import { createReadStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TransformersDeployment } from 'aana-host';
import { APIError } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startOpenAiApp } from '../../../../apis/openai/fixtures/openai-app.ts';
import { AsrBatchOutput, AsrOutput, type AudioReference } from '../../../../base/schemas/index.ts';
import { errorOf } from '../../../../test/helpers/error-of.ts';
import { longTalk, unlessOffline } from '../../../../test/helpers/media/clips.ts';
import { SPOKEN, type Voice, voiceSamples } from '../../../../test/helpers/media/conversations.ts';
import { makeMedia } from '../../../../test/helpers/media/media-files.ts';
import { ffmpegPath, speechPath } from '../../../../test/helpers/media/media.ts';
import { wordErrorRate, wordErrors } from '../../../../test/helpers/media/word-errors.ts';
import { skip } from '../../../../test/skip.ts';
import type { DeploymentHandle, DeploymentManager } from '../../../deployments/index.ts';
import { cannotRun, readWav } from '../../fixtures/cannot-run.ts';
import { moonshineFolder } from '../../fixtures/moonshine.ts';
import { deployed, SampleFiles } from '../../fixtures/real-models.ts';

const Speech = suite('speech to text with Transformers.js');
const ENGLISH = ['kennedy', 'nature', 'snack', 'rainbow'] as const;
const RATE = 16_000;
const files = new SampleFiles();
const folder = await mkdtemp(join(tmpdir(), 'aana-moonshine-'));
let model = '';
let voices: ReadonlyMap<Voice, Float32Array> = new Map();
let manager: DeploymentManager;
let handle: DeploymentHandle;

const config = () => ({
  model_id: model,
  task: 'automatic-speech-recognition' as const,
  dtype: 'q8' as const,
  threads: 1,
});

Speech.before(async () => {
  manager = deployed({ type: 'TransformersDeployment', user_config: config() });
  await manager.start();
  handle = manager.handle('model');
});
Speech.after(async () => {
  await manager?.shutdown({ graceMs: 0 });
  await files.remove();
  await rm(folder, { recursive: true });
});

const clip = (voice: Voice): Promise<AudioReference> => files.write(voices.get(voice)!);
const transcribe = async (audio: AudioReference, params: object = {}): Promise<AsrOutput> =>
  AsrOutput.parse(await handle.call('transcribe', { audio, params }));

Speech('hears the words of four speakers', async () => {
  const batch = await Promise.all(ENGLISH.map(clip));
  const outputs = AsrBatchOutput.parse(await handle.call('transcribe_batch', { audio_batch: batch }));
  const heard = outputs.transcription.map(({ text }) => text).join(' ');
  const spoken = ENGLISH.map((voice) => SPOKEN[voice]).join(' ');
  process.stdout.write(`word error rate ${wordErrorRate(spoken, heard).toFixed(3)} `);
  assert.ok(wordErrors(spoken, heard) <= 4, heard);
  for (const { language, language_confidence: confidence } of outputs.transcription_info)
    assert.equal([language, confidence], ['en', 1]);
});

Speech('hears a long talk in parts, whose segments come one after the other', async () => {
  const talk = await longTalk(folder);
  if (typeof talk === 'string') return skip('a long talk', talk);
  const wav = join(folder, 'talk.wav');
  await makeMedia(ffmpegPath(), wav, '-i', talk.path, '-ac', '1', '-ar', String(RATE), '-c:a', 'pcm_s16le');
  const [samples] = await readWav(wav);
  const audio = await files.write(samples!);
  let end = 0;
  let text = '';
  let fraction = 0;
  const stream = handle.stream(
    'transcribe_stream',
    { audio },
    { onProgress: ({ fraction: done }) => (fraction = done ?? 0) },
  );
  for await (const values of stream)
    for (const value of values) {
      const { segments } = AsrOutput.parse(value);
      assert.is(segments.length, 1);
      const { time_interval: time, words } = segments[0]!;
      assert.ok(time.start >= end && time.end > time.start && time.end - time.start <= 30.1, JSON.stringify(time));
      assert.equal(words, []);
      ({ end } = time);
      text += segments[0]!.text;
    }
  const rate = wordErrorRate(talk.text, text);
  process.stdout.write(`word error rate of the talk ${rate.toFixed(3)} `);
  assert.ok(rate < 0.1, text);
  assert.ok(end > 150 && end <= samples!.length / RATE);
  assert.is(fraction, 1);
});

Speech('finds no text in silence and in no audio, and all of the speech without a filter', async () => {
  const silent = await transcribe(await files.write(new Float32Array(5 * RATE)));
  assert.equal([silent.segments, silent.transcription_info.language], [[], 'silence']);
  assert.equal((await transcribe(await files.write(new Float32Array(0)))).segments, []);
  const whole = await transcribe(await clip('kennedy'), { vad_filter: false });
  assert.equal(whole.segments[0]?.time_interval, { start: 0, end: 11 });
  assert.ok(wordErrors(SPOKEN.kennedy, whole.transcription.text) <= 1, whole.transcription.text);
  const short = await transcribe(await clip('kennedy'), { chunk_length: 5 });
  assert.ok(
    short.segments.length >= 3 && short.segments.every(({ time_interval: { start, end } }) => end - start <= 5.1),
  );
});

Speech('parameters that the model lacks are refused by name, and its settings are taken', async () => {
  const audio = await clip('nature');
  for (const [params, expected] of [
    [{ word_timestamps: true }, /params\.word_timestamps: test-moonshine-tiny does not have it/],
    [{ task: 'translate' }, /params\.task/],
    [{ language: 'de' }, /params\.language: test-moonshine-tiny hears "en" only/],
    [{ initial_prompt: 'Hello' }, /params\.initial_prompt/],
    [{ beam_size: 3 }, /params\.beam_size/],
    [{ channels: 'separate' }, /params\.channels/],
    [{ clip_timestamps: '1,2' }, /params\.clip_timestamps/],
    [{ vad_parameters: { speech_pad_ms: 100 } }, /params\.vad_parameters\.speech_pad_ms/],
    [{ vad_parameters: { threshold: 0.2, neg_threshold: 0.3 } }, /params\.vad_parameters\.neg_threshold/],
    [{ vad_filter: false, vad_parameters: {} }, /params\.vad_parameters: needs/],
  ] as const) {
    const error = await errorOf(transcribe(audio, params));
    assert.equal([error.name, error.kind], ['ValidationError', 'invalid-input'], JSON.stringify(params));
    assert.match(error.message, expected);
  }
  const { transcription } = await transcribe(audio, { language: 'en-US', beam_size: 1, temperature: 0 });
  assert.match(transcription.text, /nature/i);
});

Speech('a cancelled call ends', async () => {
  const abort = new AbortController();
  const call = errorOf(handle.call('transcribe', { audio: await clip('rainbow') }, { signal: abort.signal }), Error);
  while (manager.status()['model']?.replicas[0]?.ongoing === 0) await new Promise(setImmediate);
  abort.abort(new Error('enough'));
  assert.is((await call).message, 'enough');
  assert.match((await transcribe(await clip('nature'))).transcription.text, /nature/i);
});

Speech('answers /v1/audio/transcriptions in place of Whisper', async () => {
  await using at = await startOpenAiApp({
    config: { media: { ffmpeg_path: ffmpegPath(), temp_dir: folder } },
    prepare: (app) => app.registerDeployment('moonshine', TransformersDeployment.options({ user_config: config() })),
  });
  const file = () => createReadStream(speechPath());
  const answer = await at.client.audio.transcriptions.create({ file: file(), model: 'moonshine' });
  assert.ok(wordErrors(SPOKEN.kennedy, answer.text) <= 1, answer.text);
  for (const [more, param] of [
    [{ response_format: 'verbose_json' }, 'response_format'],
    [{ response_format: 'json', include: ['logprobs'] }, 'include'],
    [{ prompt: 'A speech.' }, 'prompt'],
    [{ temperature: 0.5 }, 'temperature'],
    [{ language: 'de' }, 'language'],
    [{ chunking_strategy: { type: 'server_vad', prefix_padding_ms: 100 } }, 'chunking_strategy.prefix_padding_ms'],
  ] as const) {
    const request = { file: file(), model: 'moonshine', ...more } as const;
    const refused = await errorOf(at.client.audio.transcriptions.create(request as never), APIError);
    assert.equal([refused.status, refused.param], [400, param], refused.message);
    assert.match(refused.message, `'${param}': test-moonshine-tiny `);
  }
});

const missing =
  cannotRun ??
  (await unlessOffline(async () => {
    model = await moonshineFolder();
    const heard = await voiceSamples(folder);
    if (typeof heard === 'string') return heard;
    voices = heard;
    return undefined;
  }));
if (typeof missing === 'string') skip('speech to text with Transformers.js', missing);
else Speech.run();
