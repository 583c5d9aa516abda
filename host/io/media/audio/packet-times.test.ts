// Sound is where the packets of a file say: for tracks that begin late, gaps, and files that do not start at 0.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert as checkProperty, asyncProperty, constantFrom, integer } from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeMedia, testFfmpeg } from '../../../test/helpers/media/media-files.ts';
import { skip } from '../../../test/skip.ts';
import { decodeAudio } from '../decode.ts';
import { probeFile } from '../probe.ts';
import type { AudioChannels } from '../types.ts';

const Times = suite('packet times');
const folder = mkdtempSync(join(tmpdir(), 'aana-test-'));
Times.after(() => rmSync(folder, { recursive: true }));
const out = join(folder, 'out');
mkdirSync(out);

const RATE = 16_000;
const BURST_S = 0.3;
/** Encoders delay the sound, and packets are up to 0.1 s long. */
const TOLERANCE_S = 0.15;

/** Returns where sounds begin that follow at least 0.2 s of silence. */
function onsets(pcm: Float32Array): number[] {
  const found: number[] = [];
  let last = -RATE;
  pcm.forEach((value, at) => {
    if (Math.abs(value) < 0.05) return;
    if (at - last > RATE / 5) found.push(at / RATE);
    last = at;
  });
  return found;
}

const PICTURE = ['-f', 'lavfi', '-i', 'testsrc=size=64x64:rate=10:duration=1'];
interface Container {
  readonly video: string;
  readonly audio: string;
  /** Whether times may jump between any two packets. In Ogg only pages have times. */
  readonly hasGaps?: false;
}
const CONTAINERS: Readonly<Record<string, Container>> = {
  mp4: { video: 'mpeg4', audio: 'aac' },
  mov: { video: 'mpeg4', audio: 'alac' },
  webm: { video: 'libvpx', audio: 'libopus' },
  mkv: { video: 'mpeg4', audio: 'flac' },
  ts: { video: 'mpeg2video', audio: 'mp2' },
  mpg: { video: 'mpeg2video', audio: 'mp2' },
  flv: { video: 'flv', audio: 'libmp3lame' },
  nut: { video: 'mpeg4', audio: 'aac' },
  ogg: { video: 'libtheora', audio: 'libvorbis', hasGaps: false },
  asf: { video: 'mpeg4', audio: 'wmav2' },
};

const ffmpegPath = await testFfmpeg();
if (ffmpegPath === undefined) {
  skip('packet times', 'no ffmpeg');
} else {
  let count = 0;
  const decode = async (path: string, channels: AudioChannels = 'mix', maxDurationS = 7200) => {
    const source = { content: 'file' };
    const name = `a${(count += 1)}`;
    const options = { ffmpegPath, source, channels, maxDurationS, root: folder, folder: out, name };
    const { reference, duration } = await decodeAudio(path, await probeFile(path, options), options);
    const pcm = reference.channels.map(({ artifact: { id } }) => {
      const { buffer, byteOffset, length } = readFileSync(join(folder, id));
      return new Float32Array(buffer.slice(byteOffset, byteOffset + length));
    });
    for (const { artifact } of reference.channels) rmSync(join(folder, artifact.id));
    return { pcm, duration };
  };

  /** Makes three bursts, 1 s apart in the track. It begins `late`, its times jump by `gap` after the second burst. */
  const makeFile = (name: string, { video, audio }: Container, late: number, gap: number, start: number) =>
    makeMedia(
      ffmpegPath,
      join(folder, name),
      ...PICTURE,
      ...['-f', 'lavfi', '-i', bursts(2.5)],
      ...['-map', '0:v', '-map', '1:a', '-af', `asetpts=PTS+(${late}+gte(T\\,1.7)*${gap})/TB`],
      ...['-c:v', video, '-c:a', audio, '-output_ts_offset', String(start), '-max_interleave_delta', '0'],
    );

  const near = (actual: readonly number[], expected: readonly number[], what: string): void => {
    const isNear =
      actual.length === expected.length &&
      actual.every((time, at) => Math.abs(time - (expected[at] ?? NaN)) < TOLERANCE_S);
    assert.ok(isNear, `${what}: ${actual.join(', ')} is not near ${expected.join(', ')}`);
  };

  for (const [extension, container] of Object.entries(CONTAINERS))
    Times(`are those of ${extension}`, async () => {
      const tenths = (most: number) => integer({ min: 0, max: most * 10 }).map((value) => value / 10);
      await checkProperty(
        asyncProperty(tenths(20), tenths(20), constantFrom(0, 7, 3600), async (late, wanted, start) => {
          const gap = container.hasGaps === false ? 0 : wanted;
          const path = await makeFile(`times.${extension}`, container, late, gap, start);
          const { pcm, duration } = await decode(path);
          near(onsets(pcm[0]!), [late, late + 1, late + gap + 2], `${late} s late, gap ${gap} s, start ${start} s`);
          assert.ok(Math.abs(duration - (late + gap + 2.5)) < TOLERANCE_S, String(duration));
        }),
        { numRuns: 2, examples: [[4, 12.5, 3600]] },
      );
    });

  const bursts = (seconds: number) => `aevalsrc=0.5*sin(2*PI*1000*t)*lt(mod(t\\,1)\\,${BURST_S}):s=44100:d=${seconds}`;
  for (const [name, codec] of [
    ['plain.wav', 'pcm_s16le'],
    ['plain.mp3', 'libmp3lame'],
    ['plain.aac', 'aac'],
    ['plain.flac', 'flac'],
    ['plain.avi', 'libmp3lame'],
  ] as const)
    Times(`are those of ${name}`, async () => {
      const path = await makeMedia(ffmpegPath, join(folder, name), '-f', 'lavfi', '-i', bursts(2.5), '-c:a', codec);
      near(onsets((await decode(path)).pcm[0]!), [0, 1, 2], name);
    });

  Times('count for each separate channel', async () => {
    const path = await makeFile('two.mkv', { video: 'mpeg4', audio: 'flac' }, 3, 5, 0);
    const stereo = await makeMedia(
      ffmpegPath,
      join(folder, 'stereo.mkv'),
      '-copyts',
      '-i',
      path,
      '-ac',
      '2',
      '-c:a',
      'flac',
    );
    const { pcm } = await decode(stereo, 'separate');
    assert.is(pcm.length, 2);
    for (const channel of pcm) near(onsets(channel), [3, 4, 10], 'a channel');
  });

  Times('that jump by days are not filled with silence', async () => {
    for (const [name, start] of [
      ['days.mkv', 0],
      ['days.ts', 3600],
    ] as const) {
      const path = await makeFile(name, { video: 'mpeg2video', audio: 'mp2' }, 0, 20_000, start);
      const probe = await probeFile(path, { ffmpegPath, source: {} });
      assert.ok((probe.info.duration ?? 0) > 19_000, JSON.stringify(probe));
      const { pcm, duration } = await decode(path, 'mix', 30_000);
      near(onsets(pcm[0]!), [0, 1, 2], name);
      assert.ok(duration < 3, String(duration));
    }
  });

  Times('that begin again keep all audio', async () => {
    const parts = await Promise.all(
      [1, 2].map((n) =>
        makeMedia(ffmpegPath, join(folder, `part${n}.ts`), '-f', 'lavfi', '-i', bursts(2), '-c:a', 'mp2'),
      ),
    );
    const path = join(folder, 'joined.ts');
    writeFileSync(path, Buffer.concat(parts.map((part) => readFileSync(part))));
    near(onsets((await decode(path)).pcm[0]!), [0, 1, 2, 3], 'two recordings');
  });
}

Times.run();
