// The real networks with real voices. A deployment runs them in a replica process.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import type { DeploymentHandle, DeploymentManager } from '../../deployments/index.ts';
import { ModelStore } from '../../../setup/models/index.ts';
import { SpeakerDiarizationOutput } from '../../../base/schemas/index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { unlessOffline } from '../../../test/helpers/media/clips.ts';
import { conversation, type Part, type Voice, voiceSamples } from '../../../test/helpers/media/conversations.ts';
import { diarizationErrorRate } from '../../../test/helpers/media/diarization-errors.ts';
import { speechPath } from '../../../test/helpers/media/media.ts';
import { skip } from '../../../test/skip.ts';
import { readWav } from '../fixtures/cannot-run.ts';
import { deployed, SampleFiles } from '../fixtures/real-models.ts';

const Diarization = suite('a deployment for speaker diarization');

const files = new SampleFiles();
const folder = await mkdtemp(join(tmpdir(), 'aana-diarization-'));
let manager: DeploymentManager;
let diarization: DeploymentHandle;
let speech: Float32Array = new Float32Array(0);

Diarization.before(async () => {
  manager = deployed({ type: 'SpeakerDiarizationDeployment', user_config: { threads: 1 } });
  await manager.start();
  diarization = manager.handle('model');
  [speech = speech] = await readWav(speechPath());
});

Diarization.after(async () => {
  await manager?.shutdown({ graceMs: 0 });
  await files.remove();
  await rm(folder, { recursive: true, force: true });
});

const diarize = async (channels: readonly Float32Array[], params = {}, signal?: AbortSignal) =>
  SpeakerDiarizationOutput.parse(
    await diarization.call('diarize', { audio: await files.write(...channels), params }, { signal }),
  ).segments;

/** Diarizes with known speakers, whose names have recordings. */
async function diarizeKnown(samples: Float32Array, known: Readonly<Record<string, Float32Array>>) {
  const known_speakers = await Promise.all(
    Object.entries(known).map(async ([name, voice]) => ({ name, audio: await files.write(voice) })),
  );
  const args = { audio: await files.write(samples), params: { exclusive: false }, known_speakers };
  return SpeakerDiarizationOutput.parse(await diarization.call('diarize', args)).segments;
}

/** Four men and two women, with interruptions. */
const DISCUSSION: readonly Part[] = [
  ['snack', 0],
  ['rainbow', 0.3],
  ['kennedy', -0.8],
  ['nature', 0.4],
  ['country', -1],
  ['snack', 0.2, 1, 5],
  ['chinese', -0.5],
  ['rainbow', 0.3, 0, 3],
  ['kennedy', 0.3, 5, 11],
  ['nature', -0.7, 0, 4],
];
/** Two men and a woman, who interrupt each other. */
const INTERVIEW: readonly Part[] = [
  ['rainbow', 0],
  ['country', 0.2],
  ['rainbow', 0.2, 2, 6],
  ['country', -0.6, 1, 4],
  ['snack', 0.4],
  ['rainbow', -1, 0, 4],
  ['snack', 0.3, 3, 7],
  ['country', 0.3],
];
/** The interview until all have spoken. */
const BEGINNING = INTERVIEW.slice(0, 5);
/** A man and two women, who interrupt each other. */
const ARGUMENT: readonly Part[] = [
  ['nature', 0],
  ['snack', -0.5],
  ['nature', 0.3, 1, 4],
  ['snack', 0.2, 2, 5],
  ['chinese', 0.4],
  ['nature', -0.5],
  ['chinese', 0.3, 0, 3],
  ['snack', -0.4, 0, 4],
];

const voices = await voiceSamples(folder);
if (typeof voices === 'string') skip('diarization of conversations', voices);
else {
  for (const [name, parts, people] of [
    ['a discussion', DISCUSSION, 6],
    ['an interview', INTERVIEW, 3],
    ['an argument', ARGUMENT, 3],
  ] as const)
    Diarization(`${name} of ${people} people has a diarization error rate of at most 15 %`, async () => {
      const { samples, turns } = conversation(voices, parts);
      const heard = await diarize([samples], { exclusive: false });
      const rate = diarizationErrorRate(
        turns,
        heard.map(({ time_interval: { start, end }, speaker }) => ({ start, end, speaker })),
      );
      process.stdout.write(`${name}: ${(samples.length / 16_000).toFixed(0)} s, ${(100 * rate).toFixed(1)} %\n`);
      assert.ok(rate <= 0.15, `the rate is ${rate}`);
      assert.is(new Set(heard.map(({ speaker }) => speaker)).size, people);
    });

  Diarization('the number of speakers can be bounded on both sides', async () => {
    const { samples } = conversation(voices, BEGINNING);
    for (const [params, count] of [
      [{ max_speakers: 2 }, 2],
      [{ max_speakers: 1 }, 1],
      [{ min_speakers: 5 }, 5],
      [{ min_speakers: 3, max_speakers: 3, threshold: -1 }, 3],
      [{ threshold: -1 }, 1],
    ] as const) {
      const heard = await diarize([samples], { ...params, exclusive: false });
      assert.is(new Set(heard.map(({ speaker }) => speaker)).size, count, JSON.stringify(params));
    }
  });

  Diarization('segments are in order, do not overlap unless asked to, and are the same each time', async () => {
    const { samples } = conversation(voices, BEGINNING);
    const [first, second] = await Promise.all([diarize([samples]), diarize([samples])]);
    assert.equal(first, second);
    assert.is(first[0]?.speaker, 'SPEAKER_00');
    let last = 0;
    for (const {
      time_interval: { start, end },
    } of first) {
      assert.ok(start >= last && end > start && end <= samples.length / 16_000);
      last = end;
    }
    const overlapping = await diarize([samples], { exclusive: false });
    assert.ok(
      overlapping.some(({ time_interval: at }, index) => at.start < (overlapping[index - 1]?.time_interval.end ?? 0)),
    );
  });

  Diarization('speakers with a known voice have its name, and the others are numbered', async () => {
    const seconds = (voice: Voice, from: number, to: number): Float32Array =>
      (voices.get(voice) ?? speech).slice(from * 16_000, to * 16_000);
    // No part of a reference is in the conversation.
    const { samples, turns } = conversation(voices, [
      ['rainbow', 0, 0, 6],
      ['country', 0.2, 0, 4.5],
      ['snack', 0.4, 0, 3.5],
      ['rainbow', -0.5, 2, 6],
      ['snack', 0.3, 1, 3.5],
    ]);
    const heard = await diarizeKnown(samples, {
      Rainer: seconds('rainbow', 6.5, 9.5),
      Absent: seconds('nature', 0, 5),
      'Ms Snack': seconds('snack', 4, 6.5),
    });
    const renamed = { rainbow: 'Rainer', snack: 'Ms Snack', country: 'SPEAKER_00' } as Record<string, string>;
    assert.equal(new Set(heard.map(({ speaker }) => speaker)), new Set(Object.values(renamed)));
    for (const { start, end, speaker } of turns) {
      const middle = (start + end) / 2;
      const active = heard.filter(({ time_interval: at }) => at.start <= middle && middle < at.end);
      assert.ok(
        active.some((one) => one.speaker === renamed[speaker]),
        `${renamed[speaker]} speaks at ${middle} s`,
      );
    }
  });

  Diarization('channels are mixed', async () => {
    const one = voices.get('rainbow') ?? speech;
    const later = new Float32Array(one.length + speech.length);
    later.set(speech, one.length);
    const heard = await diarize([one, later]);
    assert.equal(new Set(heard.map(({ speaker }) => speaker)).size, 2);
  });

  Diarization('a call that is cancelled ends at once, and its replica goes on', async () => {
    const { samples } = conversation(voices, [...DISCUSSION, ...DISCUSSION, ...DISCUSSION, ...DISCUSSION]);
    const controller = new AbortController();
    const reason = new Error('client went away');
    const call = diarize([samples], {}, controller.signal).catch((thrown: unknown) => thrown);
    await delay(500);
    controller.abort(reason);
    assert.is(await call, reason);
    while (manager.status()['model']?.replicas[0]?.ongoing !== 0) await delay(10);
    assert.is(
      (await diarize([speech])).every(({ speaker }) => speaker === 'SPEAKER_00'),
      true,
    );
  });
}

Diarization('one speaker gets one name', async () => {
  const heard = await diarize([speech], { exclusive: false });
  assert.ok(heard.length >= 3, 'the speaker makes pauses');
  assert.equal([...new Set(heard.map(({ speaker }) => speaker))], ['SPEAKER_00']);
  assert.is((await diarize([speech])).length, 1, 'neighbours of one speaker are joined');
});

Diarization('the progress grows to 1, and the last value has the segments', async () => {
  const items: { progress: number; segments: unknown }[] = [];
  const audio = await files.write(speech);
  for await (const batch of diarization.stream('diarize_stream', { audio })) items.push(...(batch as typeof items));
  const progress = items.map((item) => item.progress);
  assert.equal(
    progress,
    progress.toSorted((a, b) => a - b),
  );
  assert.ok(items.length > 3);
  assert.is(items.at(-1)?.progress, 1);
  assert.equal(items.at(-1)?.segments, await diarize([speech]));
  assert.ok(items.slice(0, -1).every(({ segments }) => segments === null));
});

const NOISE = Float32Array.from({ length: 48_000 }, (_, at) => 0.001 * Math.sin(at * at));
for (const [what, channels] of [
  ['no channel', []],
  ['an empty channel', [new Float32Array(0)]],
  ['one sample', [Float32Array.of(0.5)]],
  ['10 ms', [NOISE.subarray(0, 160)]],
  ['a minute of zeros', [new Float32Array(960_000)]],
  ['faint noise', [NOISE]],
] as const)
  Diarization(`${what} has no speaker`, async () => assert.equal(await diarize(channels, { min_speakers: 3 }), []));

Diarization('very loud samples are no failure', async () => {
  await diarize([speech.map((value) => value * 1e6)]);
});

for (const [what, known, message] of [
  ['silence', new Float32Array(48_000), /known_speakers\[0\]\.audio: no voice is heard in the audio of Ada/],
  ['10 ms', NOISE.subarray(0, 160), /no voice is heard/],
  ['a minute', new Float32Array(960_000), /the audio of Ada has 60\.0 s; it may have at most 30 s/],
] as const)
  Diarization(`a known voice that is ${what} is the fault of the caller`, async () => {
    const error = await errorOf(diarizeKnown(speech, { Ada: known }));
    assert.equal([error.name, error.kind], ['ValidationError', 'invalid-input']);
    assert.match(error.message, message);
  });

Diarization('known speakers with one name, without a name and with control characters are refused', async () => {
  const audio = await files.write(speech);
  for (const known_speakers of [
    [
      { name: 'Ada', audio },
      { name: 'Ada', audio },
    ],
    [{ name: ' ', audio }],
    [{ name: 'Ada\nB', audio }],
    [{ name: 'Ada' }],
    Array.from({ length: 17 }, (_, n) => ({ name: `${n}`, audio })),
  ]) {
    const error = await errorOf(diarization.call('diarize', { audio, known_speakers }));
    assert.equal([error.name, error.kind], ['ValidationError', 'invalid-input']);
    assert.match(error.message, /known_speakers/);
  }
});

for (const value of [NaN, Infinity])
  Diarization(`a sample that is ${value} is the fault of the caller, with its time`, async () => {
    const error = await errorOf(diarize([Float32Array.from(speech, (sample, at) => (at === 40_000 ? value : sample))]));
    assert.equal([error.name, error.kind], ['InvalidArguments', 'invalid-input']);
    assert.match(error.message, /not a finite number at 2\.500 s/);
  });

for (const [params, place] of [
  [{ min_speakers: 3, max_speakers: 2 }, 'min_speakers'],
  [{ min_speakers: 0 }, 'min_speakers'],
  [{ max_speakers: 0 }, 'max_speakers'],
  [{ min_speakers: 1e9 }, 'min_speakers'],
  [{ max_speakers: 1e9 }, 'max_speakers'],
  [{ max_speakers: 1.5 }, 'max_speakers'],
  [{ threshold: 2 }, 'threshold'],
  [{ speakers: 2 }, 'speakers'],
] as const)
  Diarization(`${JSON.stringify(params)} is refused by name`, async () => {
    const error = await errorOf(diarize([speech], params));
    assert.equal([error.name, error.kind], ['ValidationError', 'invalid-input']);
    assert.match(error.message, place);
  });

Diarization('a truncated model, another model and a file that is no model do not start, and are named', async () => {
  const store = new ModelStore({ cacheDir: process.env['AANA_CACHE_DIR'] ?? '', log: silentLogger });
  const { path: embedding } = await store.pull('campplus-zh-en');
  const truncated = join(folder, 'truncated.onnx');
  const text = join(folder, 'text.onnx');
  await writeFile(truncated, (await readFile(embedding)).subarray(0, 1_000_000));
  await writeFile(text, 'no model');
  for (const [path, expected] of [
    [truncated, /truncated\.onnx: it is truncated or not an ONNX model/],
    [text, /text\.onnx: it is/],
    [embedding, /campplus-zh-en\.onnx cannot be used for diarization: a segmentation model takes/],
    [join(folder, 'missing.onnx'), /no model file .*missing\.onnx/],
  ] as const) {
    const broken = deployed({
      type: 'SpeakerDiarizationDeployment',
      user_config: { segmentation_model_id: path, threads: 1 },
    });
    assert.match((await errorOf(broken.start())).message, expected);
    await broken.shutdown({ graceMs: 0 });
  }
});

const offline = await unlessOffline(async () => {
  const store = new ModelStore({ cacheDir: process.env['AANA_CACHE_DIR'] ?? '', log: silentLogger });
  for (const id of ['pyannote-segmentation-3.0', 'campplus-zh-en', 'onnxruntime']) await store.pull(id);
  return undefined;
});
if (typeof offline === 'string') skip('a deployment for speaker diarization', offline);
else Diarization.run();
