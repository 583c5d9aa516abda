// The real engine with real speech. A deployment runs it in a replica process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../base/core/abort.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import type { DeploymentHandle, DeploymentManager } from '../deployments/index.ts';
import { ModelStore } from '../../setup/models/index.ts';
import type { CallProgress } from '../replicas/index.ts';
import { CallClient } from '../rpc/index.ts';
import { AsrOutput } from '../../base/schemas/index.ts';
import { twoSpeakers } from '../../test/helpers/media/clips.ts';
import { SAMPLE_TEXT, speechPath } from '../../test/helpers/media/media.ts';
import { wordErrors } from '../../test/helpers/media/word-errors.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun, readWav } from './fixtures/cannot-run.ts';
import { deployed, SampleFiles } from './fixtures/real-models.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { start } from './whisper.ts';

const Whisper = suite('a Whisper deployment');

const files = new SampleFiles();
let manager: DeploymentManager;
let asr: DeploymentHandle;
let speech: Float32Array = new Float32Array(0);
/** The cheapest search. The text of repeated speech repeats itself, and would be looked for at further temperatures. */
const GREEDY = { beam_size: 1, temperature: 0 };
/** For tests of windows, which do not read the texts. */
const SHORT = { ...GREEDY, without_timestamps: true, max_new_tokens: 4 };
/** What the deployment says of the speech sample without parameters. */
let usual: AsrOutput;

Whisper.before(async () => {
  manager = deployed({ type: 'WhisperDeployment', user_config: { model_size: 'tiny.en', threads: 1 } });
  await manager.start();
  asr = manager.handle('model');
  [speech = speech] = await readWav(speechPath());
  usual = await transcribe(await files.write(speech));
});

Whisper.after(async () => {
  await manager?.shutdown({ graceMs: 0 });
  await files.remove();
});

const transcribe = async (audio: unknown, params = {}, signal?: AbortSignal): Promise<AsrOutput> =>
  AsrOutput.parse(await asr.call('transcribe', { audio, params }, { signal }));

function repeated(samples: Float32Array, times: number): Float32Array {
  const all = new Float32Array(samples.length * times);
  for (let n = 0; n < times; n += 1) all.set(samples, n * samples.length);
  return all;
}

Whisper('computes a window before it takes its first call', async () => {
  const models = new ModelStore({ cacheDir: process.env['AANA_CACHE_DIR'] ?? '', log: silentLogger });
  const [model, vad] = [await models.pull('whisper-tiny.en'), await models.pull('silero-vad-v6.2.0')];
  const spec = { model_path: model.path, vad_model_path: vad.path, model_name: 'whisper_tiny.en', use_gpu: false };
  const none = { files: [], end: '', failure: () => undefined };
  const one = { threads: 1, max_states: 1, batch_size: 1 };
  const replica = await start(
    { ...spec, ...one },
    {
      ...{ log: silentLogger, artifactPath: async () => '', growingPaths: async () => none, progress: () => {} },
      onModels: () => {},
      host: new CallClient(() => {}),
    },
  );
  try {
    await replica.warmUp?.();
    assert.is(replica.steps?.(), 1);
  } finally {
    await replica.close?.();
  }
});

Whisper('transcribes speech', () => {
  assert.is(wordErrors(SAMPLE_TEXT, usual.transcription.text), 0);
  assert.equal(usual.transcription_info, { language: 'en', language_confidence: 1 });
  assert.is(usual.transcription.text, usual.segments.map(({ text }) => text).join(''));
});

Whisper('gives segments in order, inside the audio, with a confidence', () => {
  const { segments } = usual;
  let last = 0;
  for (const { time_interval: at, confidence, words } of segments) {
    assert.ok(at.start >= last && at.end >= at.start && at.end <= speech.length / 16000, JSON.stringify(at));
    assert.ok((confidence ?? 0) > 0.5);
    assert.equal(words, []);
    last = at.end;
  }
});

Whisper('gives the times of words when asked', async () => {
  const { segments } = await transcribe(await files.write(speech), { word_timestamps: true });
  const words = segments.flatMap((segment) => segment.words);
  assert.is(wordErrors(SAMPLE_TEXT, words.map(({ word }) => word).join('')), 0);
  for (const [index, { time_interval: at }] of words.entries())
    assert.ok(index === 0 || at.start >= (words[index - 1]?.time_interval.start ?? 0));
});

Whisper('tells tokens with their log-probabilities when asked', async () => {
  const { segments } = await transcribe(await files.write(speech), { logprobs: true });
  for (const { text, tokens = [], confidence } of segments) {
    assert.is(Buffer.from(tokens.flatMap(({ bytes }) => bytes)).toString(), text);
    assert.is(tokens.map(({ token }) => token).join(''), text);
    const mean = tokens.reduce((sum, { logprob }) => sum + logprob, 0) / tokens.length;
    assert.ok(Math.abs(Math.exp(mean) - (confidence ?? 0)) < 1e-6);
  }
});

Whisper('transcribes the clips of an audio', async () => {
  const audio = await files.write(repeated(speech, 3));
  const s = speech.length / 16_000;
  const textOf = async (clip_timestamps: unknown, more = {}): Promise<string> =>
    (await transcribe(audio, { clip_timestamps, ...GREEDY, ...more })).transcription.text;
  assert.is(wordErrors(SAMPLE_TEXT, await textOf(`${s},${2 * s}`)), 0);
  assert.ok(wordErrors([1, 2, 3].map(() => SAMPLE_TEXT).join(' '), await textOf('0')) <= 3, 'the whole audio');
  assert.is(wordErrors(SAMPLE_TEXT, await textOf([2 * s], { vad_filter: false })), 0, 'to the end of the audio');
  const { segments } = await transcribe(audio, { clip_timestamps: [0, s, 2 * s, 1e9], ...GREEDY });
  assert.is(wordErrors(`${SAMPLE_TEXT} ${SAMPLE_TEXT}`, segments.map(({ text }) => text).join('')), 0);
  assert.ok(segments.every(({ time_interval: { start, end } }) => end <= s + 0.1 || start >= 2 * s - 0.1));
  assert.is(await textOf([1e300]), '', 'a clip after the end');
});

Whisper('finds speech as the caller asks', async () => {
  const audio = await files.write(speech);
  const bounds = async (vad_parameters: object, more = {}): Promise<[start: number, end: number][]> =>
    (await transcribe(audio, { vad_parameters, ...SHORT, ...more })).segments.map(
      ({ time_interval: { start, end } }) => [start, end],
    );
  const [usual] = await bounds({});
  assert.equal(await bounds({ threshold: null, speech_pad_ms: 200, min_silence_duration_ms: 100 }), [usual]);
  const [tight] = await bounds({ speech_pad_ms: 0 });
  assert.ok(Math.abs(tight![0] - usual![0] - 0.2) < 0.02, `${tight} and ${usual}`);
  assert.equal(await bounds({ threshold: 1 }), [], 'no voice is so likely');
  assert.equal(await bounds({ min_speech_duration_ms: 20_000 }), [], 'all speech is shorter');
  const everything = await bounds({ threshold: 0 });
  assert.equal([everything[0]![0], everything.at(-1)![1]], [0, speech.length / 16_000]);
  assert.is((await bounds({ min_silence_duration_ms: 60_000, speech_pad_ms: 0 })).length, 1);
  assert.ok((await bounds({ max_speech_duration_s: 2 }, { chunk_length: 3 })).length >= 4);
});

for (const [what, more] of [
  ['of speech', {}],
  ['of the whole audio', { vad_filter: false }],
  ['that are chosen', { clip_timestamps: [0] }],
] as const)
  Whisper(`transcribes parts ${what} of the length that the caller asks for`, async () => {
    const params = { chunk_length: 5, without_timestamps: true, ...GREEDY, ...more };
    const { segments, transcription } = await transcribe(await files.write(speech), params);
    assert.ok(segments.length >= 3, `${segments.length} parts`);
    for (const {
      time_interval: { start, end },
    } of segments)
      assert.ok(end - start <= 5.01, `${start} to ${end}`);
    assert.ok(wordErrors(SAMPLE_TEXT, transcription.text) <= 6, transcription.text);
  });

Whisper('streams one segment at a time', async () => {
  const items: AsrOutput[] = [];
  for await (const batch of asr.stream('transcribe_stream', { audio: await files.write(speech) }))
    items.push(...batch.map((item) => AsrOutput.parse(item)));
  assert.ok(items.length > 0);
  assert.ok(
    items.every(({ segments, transcription }) => segments.length === 1 && segments[0]?.text === transcription.text),
  );
  assert.is(wordErrors(SAMPLE_TEXT, items.map(({ transcription }) => transcription.text).join('')), 0);
});

const SILENT = {
  segments: [],
  transcription_info: { language: 'silence', language_confidence: 1 },
  transcription: { text: '' },
};
for (const [what, channels] of [
  ['no channel', []],
  ['an empty channel', [new Float32Array(0)]],
  ['zeros', [new Float32Array(32_000)]],
  ['faint noise', [Float32Array.from({ length: 48_000 }, (_, n) => 0.001 * Math.sin(n * n))]],
] as const) {
  Whisper(`calls ${what} silence`, async () => {
    assert.equal(await transcribe(await files.write(...channels)), SILENT);
  });
}

Whisper('yields one value when it streams silence', async () => {
  const items: unknown[] = [];
  for await (const batch of asr.stream('transcribe_stream', { audio: await files.write(new Float32Array(32_000)) }))
    items.push(...batch);
  assert.equal(items, [SILENT]);
});

Whisper('transcribes channels separately, names them, and merges their segments by time', async () => {
  const later = new Float32Array(speech.length + 64_000);
  later.set(speech, 64_000);
  const output = await transcribe(await files.write(speech, later), { channels: 'separate' });
  const of = (speaker: string): string =>
    output.segments
      .filter((segment) => segment.speaker === speaker)
      .map(({ text }) => text)
      .join('');
  assert.is(wordErrors(SAMPLE_TEXT, of('CHANNEL_00')), 0);
  assert.is(wordErrors(SAMPLE_TEXT, of('CHANNEL_01')), 0);
  const starts = output.segments.map(({ time_interval: { start } }) => start);
  assert.equal(
    starts,
    [...starts].sort((a, b) => a - b),
  );
});

Whisper('hears two speakers at the same time, one in each channel', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'aana-speakers-'));
  try {
    const speakers = await twoSpeakers(folder);
    if (typeof speakers === 'string') return skip('a Whisper deployment hears two speakers at the same time', speakers);
    const output = await transcribe(await files.write(...(await readWav(speakers.path))), { channels: 'separate' });
    const of = (speaker: string): string =>
      output.segments
        .filter((segment) => segment.speaker === speaker)
        .map(({ text }) => text)
        .join('');
    for (const [channel, text] of speakers.text.entries()) assert.is(wordErrors(text, of(`CHANNEL_0${channel}`)), 0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

for (const channels of ['mix', 'separate'] as const) {
  Whisper(`reports its progress to a caller who asks, with channels: ${channels}`, async () => {
    const audio = await files.write(repeated(speech, 6), repeated(speech, 6));
    const fractions: number[] = [];
    const onProgress = ({ fraction = 0 }: CallProgress): void => void fractions.push(fraction);
    await asr.call('transcribe', { audio, params: { channels, ...SHORT } }, { onProgress });
    assert.ok(fractions.length > 1 && fractions.every((at, n) => at > (fractions[n - 1] ?? -1)), String(fractions));
    assert.is(fractions.at(-1), 1);
  });
}

Whisper('passes its parameters on, and null stands for the default', async () => {
  const audio = await files.write(speech);
  const plain = { initial_prompt: null, log_prob_threshold: null, no_speech_threshold: null, length_penalty: null };
  const { transcription } = await transcribe(audio, { ...plain, max_initial_timestamp: null, task: 'transcribe' });
  assert.match(transcription.text, 'my fellow Americans');
  const prompted = await transcribe(audio, {
    initial_prompt: 'so my fellow americans, my fellow americans, my fellow americans',
    beam_size: 2,
    length_penalty: 1,
    log_prob_threshold: -2,
    no_speech_threshold: 0.9,
    max_initial_timestamp: 2,
  });
  assert.match(prompted.transcription.text, 'my fellow americans');
});

for (const [params, path] of [
  [{ task: 'summarize' }, 'task'],
  [{ initial_prompt: 'a'.repeat(4001) }, 'initial_prompt'],
  [{ temperature: [] }, 'temperature'],
  [{ temperature: Array.from({ length: 17 }, () => 0) }, 'temperature'],
  [{ log_prob_threshold: 1 }, 'log_prob_threshold'],
  [{ no_speech_threshold: 2 }, 'no_speech_threshold'],
  [{ length_penalty: -1 }, 'length_penalty'],
  [{ max_initial_timestamp: 31 }, 'max_initial_timestamp'],
  [{ clip_timestamps: '1,two' }, 'clip_timestamps'],
  [{ clip_timestamps: [-1, 2] }, 'clip_timestamps'],
  [{ clip_timestamps: '0,5,9,8.5' }, 'clip_timestamps.*the part from 9 ends before it begins'],
  [{ hallucination_silence_threshold: 2 }, 'hallucination_silence_threshold.*set `word_timestamps`'],
  [{ hallucination_silence_threshold: 0, word_timestamps: true }, 'hallucination_silence_threshold'],
  [{ language_detection_segments: 0 }, 'language_detection_segments'],
  [{ language_detection_threshold: 1.5 }, 'language_detection_threshold'],
  [{ vad_parameters: { threshold: 1.5 } }, 'vad_parameters.*threshold'],
  [{ vad_parameters: { onset: 0.5 } }, 'vad_parameters.*onset'],
  [{ vad_parameters: { min_silence_duration_ms: 1e9 } }, 'min_silence_duration_ms'],
  [{ vad_parameters: { max_speech_duration_s: 0 } }, 'max_speech_duration_s'],
  [{ vad_parameters: { threshold: 0.3, neg_threshold: 0.4 } }, 'neg_threshold.*at most `threshold`, which is 0.3'],
  [{ vad_parameters: { threshold: 0.3 }, vad_filter: false }, 'vad_parameters.*because `vad_filter` is false'],
  [{ vad_parameters: {}, clip_timestamps: [1, 2] }, 'vad_parameters.*because `clip_timestamps` names the parts'],
  [{ chunk_length: 31 }, 'chunk_length'],
  [{ chunk_length: 0.5 }, 'chunk_length'],
] as const) {
  Whisper(`refuses ${JSON.stringify(params).slice(0, 60)}`, async () => {
    const error = await errorOf(transcribe(await files.write(speech), params));
    assert.is(error.kind, 'invalid-input');
    assert.match(JSON.stringify([error.message, error.data]), new RegExp(path));
  });
}

Whisper('refuses to translate with a model that knows only English', async () => {
  const error = await errorOf(transcribe(await files.write(speech), { task: 'translate' }));
  assert.is(error.kind, 'invalid-input');
  assert.match(error.message, 'knows only English');
});

Whisper('refuses to find several languages with a model that knows only English', async () => {
  const error = await errorOf(transcribe(await files.write(speech), { multilingual: true }));
  assert.is(error.kind, 'invalid-input');
  assert.match(error.message, 'knows only English');
});

Whisper('refuses an unknown language code as invalid input', async () => {
  const error = await errorOf(transcribe(await files.write(speech), { language: 'xx' }));
  assert.equal([error.name, error.kind], ['ValidationError', 'invalid-input']);
  assert.match(error.message, '"xx" is not a language that Whisper knows');
});

Whisper('fails when the file of samples is missing', async () => {
  const artifact = { id: 'nowhere/audio.f32', bytes: 40, sha256: '0'.repeat(64) };
  const error = await errorOf(transcribe({ channels: [{ artifact, samples: 10 }], sample_rate: 16000 }));
  assert.is(error.name, 'ArtifactNotFound');
  assert.match(error.message, 'nowhere/audio.f32');
});

Whisper('stops a cancelled transcription early', async () => {
  const audio = await files.write(repeated(speech, 60));
  const controller = new AbortController();
  const reason = new Error('client went away');
  const call = transcribe(audio, {}, controller.signal).catch((error: unknown) => error);
  await delay(300);
  controller.abort(reason);
  assert.is(await call, reason);
  const before = manager.status()['model']?.replicas[0];
  while (manager.status()['model']?.replicas[0]?.ongoing !== 0) await delay(10);
  assert.is(manager.status()['model']?.replicas[0]?.pid, before?.pid);
  assert.is(wordErrors(SAMPLE_TEXT, (await transcribe(await files.write(speech))).transcription.text), 0);
});

Whisper('answers four requests at the same time', async () => {
  const audio = await files.write(speech);
  const outputs = await Promise.all([1, 2, 3, 4].map(() => transcribe(audio, GREEDY)));
  assert.equal(
    outputs.map(({ transcription }) => wordErrors(SAMPLE_TEXT, transcription.text)),
    [0, 0, 0, 0],
  );
});

Whisper('repeats a request after its replica was killed', async () => {
  const replica = () => manager.status()['model']?.replicas[0];
  const pid = replica()?.pid;
  const running = transcribe(await files.write(repeated(speech, 2)), GREEDY);
  while (replica()?.ongoing === 0) await delay(1);
  process.kill(pid ?? 0, 'SIGKILL');
  assert.ok(wordErrors(`${SAMPLE_TEXT} ${SAMPLE_TEXT}`, (await running).transcription.text) <= 2);
  assert.is.not(replica()?.pid, pid);
});

Whisper('does not start with a file that is not a model, and names the file', async () => {
  const path = join(tmpdir(), (await files.write(speech)).channels[0]?.artifact.id ?? '');
  const broken = deployed({ type: 'WhisperDeployment', user_config: { model_size: path } });
  const error = await errorOf(broken.start());
  assert.is(error.name, 'FailedDeployment');
  assert.match(error.message, basename(path));
});

Whisper('is loaded onto the GPU of its placement', async () => {
  const machine = { gpus: [{ id: undefined, device: 'Vulkan7', name: 'fake', memoryBytes: 80e9 }], memoryBytes: 64e9 };
  const elsewhere = deployed(
    { type: 'WhisperDeployment', user_config: { model_size: 'tiny.en' }, ray_actor_options: { num_gpus: 1 } },
    {},
    machine,
  );
  assert.match((await errorOf(elsewhere.start())).message, /cannot be loaded onto Vulkan7: there is no such GPU/);
});

if (cannotRun === undefined) Whisper.run();
else skip('a Whisper deployment', cannotRun);
