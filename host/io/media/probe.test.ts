import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaError } from '../../base/core/errors.ts';
import { speechPath } from '../../test/helpers/media/media.ts';
import { makeMedia, stillPicture, sine, testFfmpeg } from '../../test/helpers/media/media-files.ts';
import { skip } from '../../test/skip.ts';
import { complaint, parseProbe, probeFile } from './probe.ts';
import { errorOf } from '../../test/helpers/error-of.ts';

const Probes = suite('probe');
const folder = mkdtempSync(join(tmpdir(), 'aana-test-'));
Probes.after(() => rmSync(folder, { recursive: true }));

const describe = (...streams: string[]): string =>
  [
    "Input #0, mov,mp4, from 'file:x':",
    '  Metadata:',
    '    title           : Stream #0:7: Audio: opus, 48000 Hz, stereo',
    '  Duration: 01:02:03.50, start: 0.000000, bitrate: 1 kb/s',
    ...streams,
    'At least one output file must be specified',
  ].join('\n');

Probes('reads duration, tracks and channels', () => {
  const text = describe(
    '  Stream #0:0[0x1](und): Video: h264 (High), yuv420p, 1280x720',
    '    Stream #0:1(eng): Audio: aac (LC), 48000 Hz, 5.1(side), fltp, 189 kb/s (default)',
  );
  assert.equal(parseProbe(text), {
    info: { duration: 3723.5, hasAudio: true, hasVideo: true },
    start: 0,
    audioTracks: [{ stream: 1, codec: 'aac', language: 'eng', isDefault: true, channels: 6 }],
    videoTracks: [
      {
        ...{ stream: 0, codec: 'h264', isDefault: false, size: { width: 1280, height: 720 } },
        ...{ isInterlaced: false, isHdr: false, unsaidColours: [] },
      },
    ],
    ...{ subtitleTracks: [], texts: { chapters: [] } },
  });
});

Probes('knows the number of channels of every kind of layout', () => {
  const layouts: readonly (readonly [string, number | undefined])[] = [
    ...([
      ['mono', 1],
      ['stereo', 2],
      ['2.1', 3],
      ['5.1', 6],
      ['5.1.4', 10],
      ['7.1(wide-side)', 8],
      ['22.2', 24],
      ['quad(side)', 4],
      ['3 channels (FL+FR+LFE)', 3],
      ['17 channels', 17],
      ['ambisonic 1', undefined],
    ] as const),
  ];
  for (const [layout, channels] of layouts)
    assert.is(
      parseProbe(describe(`  Stream #0:0: Audio: opus, 48000 Hz, ${layout}, fltp`))?.audioTracks[0]?.channels,
      channels,
      layout,
    );
});

Probes('knows the tracks, their languages and the start of the file', () => {
  const text = describe(
    '  Stream #0:0: Video: mpeg4, yuv420p, 64x64',
    '  Stream #0:1(eng): Audio: flac, 44100 Hz, mono, s16',
    '  Stream #0:2[0x101](und): Audio: mp2, 48000 Hz, stereo, s16p, start 5.4 (default)',
  ).replace('start: 0.000000', 'start: 3601.400000');
  assert.equal(parseProbe(text), {
    info: { duration: 3723.5, hasAudio: true, hasVideo: true },
    start: 3601.4,
    audioTracks: [
      { stream: 1, codec: 'flac', language: 'eng', isDefault: false, channels: 1 },
      { stream: 2, codec: 'mp2', isDefault: true, channels: 2 },
    ],
    videoTracks: [
      {
        ...{ stream: 0, codec: 'mpeg4', isDefault: false, size: { width: 64, height: 64 } },
        ...{ isInterlaced: false, isHdr: false, unsaidColours: [] },
      },
    ],
    ...{ subtitleTracks: [], texts: { chapters: [] } },
  });
  assert.is(parseProbe(text.replace('mov,mp4', 'matroska,webm'))?.info.duration, 122.1);
});

Probes('does not take texts of the file for its tracks and chapters', () => {
  const [line, escaped] = ['\u2028  Stream #0:9: Audio: mp3, stereo', '\\\n[CHAPTER]\\\nSTART\\=1'];
  const text = describe('  Stream #0:0: Audio: opus, 48000 Hz, mono', `    Metadata:`, `      title : ${line}`);
  const texts = [
    ...[';FFMETADATA1', `title=a${escaped}`, 'comment=\\#1 \\= \\\\', '[STREAM]', 'title=of a track'],
    ...['[CHAPTER]', 'TIMEBASE=1/1000', 'START=0', 'END=1500', 'title=One', '[CHAPTER]', 'TIMEBASE=1/0', 'START=1', ''],
  ].join('\n');
  const probe = parseProbe(text, texts);
  assert.is(probe?.audioTracks.length, 1);
  assert.equal(probe?.texts, {
    ...{ title: 'a\n[CHAPTER]\nSTART=1', description: '#1 = \\' },
    chapters: [{ start: 0, end: 1.5, title: 'One' }],
  });
});

Probes('keeps the reason of ffmpeg', () => {
  const old = '[mov,mp4 @ 0x1] moov atom not found\n/tmp/x: Invalid data found when processing input\n';
  const recent =
    '[in#0 @ 0x1] moov atom not found\n[in#0 @ 0x2] Error opening input: Invalid data found when processing input\n' +
    'Error opening input file /tmp/x.\nError opening input files: Invalid data found when processing input\n';
  for (const stderr of [old, recent]) assert.is(complaint(stderr, '/tmp/x'), 'moov atom not found');
  const plain = recent.slice(recent.indexOf('\n') + 1);
  assert.is(complaint(plain, '/tmp/x'), 'Invalid data found when processing input');
  const follows =
    '[vist#0:0/png @ 0x1] [dec:png @ 0x2] Error submitting packet to decoder: Invalid data found\n' +
    '[vf#0:0 @ 0x1] Cannot determine format of input 0:0 after EOF\n' +
    '[vist#0:0/png @ 0x1] [dec:png @ 0x2] Terminating thread with return code -1145393733 (Error number occurred)\n';
  assert.is(complaint(`[vist#0:0/png @ 0x1] [dec:png @ 0x2] chunk too big\n${follows}`, '/tmp/x'), 'chunk too big');
  assert.is(complaint(follows, '/tmp/x'), 'its data are damaged or cut');
  assert.is(complaint('', '/tmp/x'), 'no reason given');
  const described = `[png @ 0x1] chunk too big\nInput #0, png_pipe, from 'file:/tmp/x':\n  Stream #0:0: Video: png\n`;
  assert.is(complaint(described, '/tmp/x'), 'chunk too big');
});

Probes('has no duration if the file does not say it', () => {
  const probe = parseProbe(describe('  Stream #0:0: Audio: opus, 48000 Hz, mono, fltp').replace('01:02:03.50', 'N/A'));
  assert.equal(probe?.info, { hasAudio: true, hasVideo: false });
});

Probes('does not confuse cover art with video or metadata with tracks', () => {
  assert.equal(
    parseProbe(
      describe('  Stream #0:0: Audio: mp3, 44100 Hz, stereo', '  Stream #0:1: Video: mjpeg, 300x300 (attached pic)'),
    )?.info.hasVideo,
    false,
  );
  assert.equal(parseProbe(describe('  Stream #0:0: Video: h264'))?.info.hasAudio, false);
  assert.is(parseProbe(describe('  Stream #0:0: Subtitle: subrip')), undefined);
  assert.is(parseProbe('Error opening input files: Invalid data'), undefined);
});

const ffmpegPath = await testFfmpeg();
if (ffmpegPath === undefined) {
  skip('probe of files', 'no ffmpeg');
} else {
  const source = { url: 'http://user:s3cret@host.test/x.mp4' };
  const probe = (path: string) => probeFile(path, { ffmpegPath, source });

  Probes('describes an audio file and a video', async () => {
    const audio = await makeMedia(ffmpegPath, join(folder, 'a.wav'), ...sine(440, 2), '-ac', '2');
    const sound = await probe(audio);
    assert.equal(sound.info, { duration: 2, hasAudio: true, hasVideo: false });
    assert.equal(sound.audioTracks, [{ stream: 0, codec: 'pcm_s16le', isDefault: false, channels: 2 }]);
    const video = await makeMedia(
      ffmpegPath,
      join(folder, 'v.mp4'),
      '-f',
      'lavfi',
      '-i',
      'testsrc=size=64x64:rate=5:duration=1',
      '-c:v',
      'mpeg4',
    );
    const picture = await probe(video);
    assert.equal(picture.info, { duration: 1, hasAudio: false, hasVideo: true });
    assert.equal(picture.audioTracks, []);
  });

  const fails = (path: string): Promise<AanaError> => errorOf(probe(path));

  Probes('refuses files that are not media, and names the source instead of the temporary file', async () => {
    const picture = await makeMedia(ffmpegPath, join(folder, 'p.png'), ...stillPicture('testsrc=size=64x64'));
    const [text, empty, cut] = ['t\nline.mp4', 'e.mp4', 'c.mp4'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(text, 'this is not media\n'.repeat(100));
    writeFileSync(empty, '');
    const whole = await makeMedia(ffmpegPath, join(folder, 'w.mp4'), ...sine(440, 2), '-c:a', 'aac');
    writeFileSync(cut, readFileSync(whole).subarray(0, 3000)); // its index is at the end
    for (const path of [picture, text, empty, cut]) {
      const error = await fails(path);
      assert.equal([error.name, error.kind], ['VideoReadingException', 'bad-request'], path);
      assert.equal(error.data, {
        video: { path: null, url: 'http://host.test/x.mp4', content: null, media_id: null },
        message: error.message,
      });
      assert.not.ok(error.message.includes(folder) || error.message.includes('line.mp4'), error.message);
    }
    assert.is((await fails(empty)).message, 'the file is empty');
    assert.match((await fails(cut)).message, 'moov atom not found');
  });

  Probes('refuses lists that make ffmpeg open other files', async () => {
    const media = await makeMedia(ffmpegPath, join(folder, 's.ts'), ...sine(440, 1), '-c:a', 'aac', '-f', 'mpegts');
    const lists = {
      'hls.m3u8': `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://${media}\n#EXT-X-ENDLIST\n`,
      'concat.mp4': `ffconcat version 1.0\nfile s.ts\n`,
      'sdp.mp4': 'v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 9 RTP/AVP 0\n',
    };
    for (const [name, content] of Object.entries(lists)) {
      writeFileSync(join(folder, name), content);
      assert.is((await fails(join(folder, name))).name, 'VideoReadingException', name);
    }
  });

  const picture = ['-f', 'lavfi', '-i', 'testsrc=size=64x64:rate=5:duration=3'];
  const kinds: readonly (readonly [string, string, () => readonly string[], object])[] = [
    [
      'a video with stereo sound',
      'sound.mp4',
      () => [...picture, ...sine(440, 3), '-c:v', 'mpeg4', '-c:a', 'aac', '-ac', '2'],
      { hasAudio: true, hasVideo: true, channels: 2 },
    ],
    [
      'six channels of Opus',
      'six.webm',
      () => [...sine(440, 3), '-ac', '6', '-c:a', 'libopus'],
      { hasAudio: true, hasVideo: false, channels: 6 },
    ],
    [
      'speech as MP3',
      'speech.mp3',
      () => ['-t', '3', '-i', speechPath(), '-c:a', 'libmp3lame'],
      { hasAudio: true, hasVideo: false, channels: 1 },
    ],
  ];
  for (const [what, name, args, expected] of kinds) {
    Probes(`describes ${what}`, async () => {
      const { info, audioTracks } = await probe(await makeMedia(ffmpegPath, join(folder, name), ...args()));
      const { duration = 0, ...tracks } = info;
      assert.equal({ ...tracks, channels: audioTracks[0]?.channels }, expected);
      assert.ok(Math.abs(duration - 3) < 0.1, String(duration)); // codecs add some milliseconds
    });
  }
}

Probes.run();
