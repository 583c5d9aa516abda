import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaError } from '../../base/core/errors.ts';
import { runContained } from '../../base/processes/index.ts';
import { twoSpeakers } from '../../test/helpers/media/clips.ts';
import { longSpeech } from '../../test/helpers/media/media.ts';
import { makeMedia, sine, testFfmpeg } from '../../test/helpers/media/media-files.ts';
import { skip } from '../../test/skip.ts';
import { decodeAudio } from './decode.ts';
import { probeFile } from './probe.ts';
import type { AudioChannels, AudioMedia, MediaSource } from './types.ts';
import { errorOf } from '../../test/helpers/error-of.ts';

const Decode = suite('decodeAudio');
const folder = mkdtempSync(join(tmpdir(), 'aana-test-'));
const out = join(folder, 'out');
Decode.before.each(() => {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out);
});
Decode.after(() => rmSync(folder, { recursive: true }));

function samples(audio: AudioMedia, channel: number): Float32Array {
  const reference = audio.reference.channels[channel];
  assert.ok(reference, `no channel ${channel}`);
  const bytes = readFileSync(join(folder, reference.artifact.id));
  assert.is(createHash('sha256').update(bytes).digest('hex'), reference.artifact.sha256);
  assert.is(bytes.length, reference.samples * 4);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

/** Returns the frequency of a sine, from the number of its upward zero crossings. */
function frequency(pcm: Float32Array): number {
  let crossings = 0;
  for (let i = 1; i < pcm.length; i++) if ((pcm[i - 1] ?? 0) < 0 && (pcm[i] ?? 0) >= 0) crossings += 1;
  return (crossings * 16_000) / pcm.length;
}

const near = (actual: number, expected: number, tolerance: number): void =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not near ${expected}`);
const peak = (pcm: Float32Array): number => pcm.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

const ffmpegPath = await testFfmpeg();
if (ffmpegPath === undefined) {
  skip('decodeAudio', 'no ffmpeg');
} else {
  const source = { content: 'video' };
  const decode = async (
    path: string,
    channels: AudioChannels = 'mix',
    maxDurationS = 60,
    to = out,
    asked: MediaSource = source,
  ): Promise<AudioMedia> =>
    decodeAudio(path, await probeFile(path, { ffmpegPath, source }), {
      ffmpegPath,
      source: asked,
      channels,
      maxDurationS,
      root: folder,
      folder: to,
      name: 'a',
    });
  const fails = async (promise: Promise<unknown>): Promise<AanaError> => {
    const error = await errorOf(promise);
    assert.equal(readdirSync(out), [], 'a file was left');
    return error;
  };
  const make = (name: string, ...args: readonly string[]) => makeMedia(ffmpegPath, join(folder, name), ...args);
  const twoTones = [
    '-f',
    'lavfi',
    '-i',
    'sine=frequency=440:duration=2',
    '-f',
    'lavfi',
    '-i',
    'sine=frequency=1000:duration=2',
    '-filter_complex',
    'amerge=inputs=2',
  ];

  Decode('decodes a compressed stereo track of another rate to 16 kHz mono', async () => {
    const audio = await decode(
      await make(
        'stereo.m4a',
        '-f',
        'lavfi',
        '-i',
        'sine=frequency=440:duration=2:sample_rate=44100',
        '-ac',
        '2',
        '-c:a',
        'aac',
      ),
    );
    assert.is(audio.reference.sample_rate, 16_000);
    assert.is(audio.reference.channels.length, 1);
    near(audio.duration, 2, 0.1);
    near(frequency(samples(audio, 0)), 440, 2);
  });

  Decode('separates channels, each into its own file', async () => {
    const audio = await decode(await make('two.wav', ...twoTones), 'separate');
    assert.is(audio.reference.channels.length, 2);
    assert.is(audio.duration, 2);
    near(frequency(samples(audio, 0)), 440, 2);
    near(frequency(samples(audio, 1)), 1000, 2);
  });

  Decode('mixes channels into one', async () => {
    const both = await decode(await make('two.wav', ...twoTones));
    assert.is(both.reference.channels.length, 1);
    const left = await decodeAudio(
      join(folder, 'two.wav'),
      await probeFile(join(folder, 'two.wav'), { ffmpegPath, source }),
      {
        ...{ ffmpegPath, source, channels: 'separate', maxDurationS: 60, root: folder, folder: out, name: 'b' },
      },
    );
    const [mix, first, second] = [samples(both, 0), samples(left, 0), samples(left, 1)];
    for (let i = 1000; i < 1100; i++) near(mix[i] ?? 0, ((first[i] ?? 0) + (second[i] ?? 0)) / 2, 0.001);
  });

  Decode('separates the channels of a surround layout', async () => {
    const audio = await decode(await make('surround.wav', ...sine(440, 1), '-ac', '6'), 'separate');
    assert.is(audio.reference.channels.length, 6);
    assert.is(audio.duration, 1);
  });

  Decode('decodes the default track, else the first one, or the track that the caller chooses', async () => {
    const tracks = (name: string, ...args: readonly string[]) =>
      make(name, ...sine(440, 1), ...sine(1000, 1), '-map', '0', '-map', '1', ...args, '-c:a', 'pcm_s16le');
    const first = await tracks('tracks.mkv', '-disposition:a', '0');
    const languages = ['-metadata:s:a:0', 'language=eng', '-metadata:s:a:1', 'language=deu'];
    const second = await tracks('second.mkv', ...languages, '-disposition:a:0', '0', '-disposition:a:1', 'default');
    const heard = async (path: string, track?: number) =>
      frequency(samples(await decode(path, 'mix', 60, out, { ...source, audio_track: track }), 0));
    near(await heard(first), 440, 2);
    near(await heard(first, 1), 1000, 2);
    near(await heard(second), 1000, 2);
    near(await heard(second, 0), 440, 2);
    rmSync(out, { recursive: true });
    mkdirSync(out);
    const error = await fails(heard(second, 2));
    assert.is(error.message, 'the file has no audio track 2; its audio tracks are 0 (eng), 1 (deu, default)');
  });

  for (const [name, right, isHeard] of [
    ['as loud', '-0.3', true],
    ['less loud', '-0.27', true],
    ['much less loud, so that the mix is heard', '-0.1', false],
    ['silent', '0', false],
    ['in phase', '0.3', false],
  ] as const)
    Decode(`takes the difference of two channels that cancel each other out: the second is ${name}`, async () => {
      const tone = (amplitude: string) => `${amplitude}*sin(2*PI*440*t)`;
      const path = await make('phase.wav', '-f', 'lavfi', '-i', `aevalsrc=${tone('0.3')}|${tone(right)}:d=3`);
      const loudness = (0.3 + Number(isHeard ? -right : right)) / 2;
      const pcm = samples(await decode(path), 0);
      assert.is(readdirSync(out).length, 1);
      near(peak(pcm), loudness, 0.01);
      near(frequency(pcm), 440, 2);
    });

  Decode('limits values that are too large and replaces NaN', async () => {
    const pcm = Float32Array.from(
      { length: 16_000 },
      (_, i) => [0.5, 100, -100, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY][i % 6] ?? 0,
    );
    const raw = join(folder, 'wild.f32');
    writeFileSync(raw, Buffer.from(pcm.buffer));
    const audio = await decode(await make('wild.wav', '-f', 'f32le', '-ar', '16000', '-i', raw, '-c:a', 'pcm_f32le'));
    const values = samples(audio, 0);
    assert.ok(values.every((value) => value >= -1 && value <= 1));
    assert.is(peak(values), 1);
  });

  Decode('gives no channels for media without an audio track', async () => {
    const video = await make('mute.mp4', '-f', 'lavfi', '-i', 'testsrc=size=64x64:rate=5:duration=1', '-c:v', 'mpeg4');
    for (const channels of ['mix', 'separate'] as const) {
      assert.equal(await decode(video, channels), { duration: 0, reference: { channels: [], sample_rate: 16_000 } });
    }
    assert.equal(readdirSync(out), []);
  });

  Decode('refuses a file whose header says that it is too long', async () => {
    const error = await fails(decode(await make('long.wav', ...sine(440, 5)), 'mix', 2));
    assert.equal([error.name, error.kind], ['MediaTooLongException', 'too-large']);
    assert.match(error.message, '5 s long; the limit is 2 s');
  });

  Decode('refuses a file that is too long without saying so, and leaves no file', async () => {
    const path = await make('unsaid.mkv', ...sine(440, 5), '-c:a', 'flac', '-live', '1'); // as browsers record it
    assert.is((await probeFile(path, { ffmpegPath, source })).info.duration, undefined);
    assert.is((await fails(decode(path, 'mix', 2))).name, 'MediaTooLongException');
    near((await decode(path, 'mix', 60)).duration, 5, 0.1);
  });

  Decode('names the track that cannot be decoded', async () => {
    const whole = readFileSync(await make('whole.m4a', ...sine(440, 5), '-c:a', 'aac', '-movflags', '+faststart'));
    const data = whole.indexOf('mdat') + 4;
    // The index stays valid, the audio becomes noise.
    for (let i = data; i < whole.length; i++) whole[i] = (i * 7919) & 255;
    const path = join(folder, 'broken.m4a');
    writeFileSync(path, whole);
    const error = await fails(decode(path));
    assert.equal([error.name, error.kind], ['AudioReadingException', 'bad-request']);
    assert.not.ok(error.message.includes(folder), error.message);
  });

  Decode('decodes the rest of a file that was cut off', async () => {
    const whole = readFileSync(await make('cut.mp3', ...sine(440, 4), '-c:a', 'libmp3lame'));
    const path = join(folder, 'half.mp3');
    writeFileSync(path, whole.subarray(0, whole.length / 2));
    const { duration } = await decode(path);
    assert.ok(duration > 1 && duration < 3, String(duration));
  });

  Decode('rejects with the reason of the signal and leaves no file', async () => {
    const path = await make('big.flac', ...sine(440, 900));
    const probe = await probeFile(path, { ffmpegPath, source });
    const controller = new AbortController();
    const reason = new Error('client went away');
    // The decoder cannot end before the signal is aborted.
    const slow = join(folder, 'slow-ffmpeg');
    writeFileSync(slow, `#!/bin/sh\nexec '${ffmpegPath}' -readrate 1 "$@"\n`, { mode: 0o700 });
    const options = {
      ffmpegPath: slow,
      source,
      channels: 'mix',
      maxDurationS: 3600,
      root: folder,
      folder: out,
      name: 'a',
      signal: controller.signal,
    } as const;
    const running = decodeAudio(path, probe, options).catch((error: unknown) => error);
    for (; readdirSync(out).length === 0; await new Promise(setImmediate));
    controller.abort(reason);
    assert.is(await running, reason);
    assert.equal(readdirSync(out), []);
  });

  const full = join(folder, 'full');
  mkdirSync(full);
  const mounted =
    process.getuid?.() === 0 &&
    (await runContained('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', full]).catch(() => undefined))?.code === 0;
  if (mounted) {
    Decode('names the directory when the disk is full', async () => {
      try {
        const error = await fails(decode(await make('room.wav', ...sine(440, 20)), 'mix', 60, full));
        assert.equal([error.name, error.kind], ['DiskFullException', 'unavailable']);
        assert.ok(error.message.includes(full));
        assert.equal(readdirSync(full), []);
      } finally {
        await runContained('umount', [full]);
      }
    });
  } else {
    skip('decodeAudio names the directory when the disk is full', 'a small file system cannot be mounted');
  }

  Decode('decodes a long recording in full', async () => {
    const path = join(folder, 'long.webm');
    writeFileSync(path, await longSpeech(18));
    const audio = await decode(path, 'mix', 300);
    near(audio.duration, 18 * 11, 0.1);
    assert.ok(peak(samples(audio, 0).subarray(-16_000 * 11)) > 0.05);
  });

  Decode('separates two speakers', async () => {
    const speakers = await twoSpeakers(folder);
    if (typeof speakers === 'string') return skip('decodeAudio separates two speakers', speakers);
    const audio = await decode(speakers.path, 'separate');
    const [left, right] = [samples(audio, 0), samples(audio, 1)];
    assert.is(left.length, right.length);
    const endOfRight = 7 * 16_000; // the left speaker speaks two seconds longer
    assert.ok(peak(right.subarray(0, endOfRight)) > 0.05);
    assert.is(peak(right.subarray(endOfRight)), 0);
    assert.ok(peak(left.subarray(endOfRight)) > 0.05);
  });
}

Decode.run();
