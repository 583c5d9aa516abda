// Frames of real videos that ffmpeg makes. Each shows its own number as a colour, so that the right picture is known.
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { FrameOptions, VideoFacts } from '../../../base/schemas/index.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { makeMedia, sine, testFfmpeg } from '../../../test/helpers/media/media-files.ts';
import { descendants } from '../../../test/helpers/server.ts';
import { skip } from '../../../test/skip.ts';
import type { MediaScope } from '../scope.ts';
import { MediaService } from '../service.ts';
import type { VideoFrame } from '../types.ts';

const Frames = suite('frames of videos');
const folder = mkdtempSync(join(tmpdir(), 'aana-frames-'));
const temp = join(folder, 'temp');
Frames.after(() => rmSync(folder, { recursive: true }));

const ffmpegPath = await testFfmpeg();
if (ffmpegPath === undefined) {
  skip('frames of videos', 'no ffmpeg');
} else {
  const serviceWith = (options: { readonly maxDurationS?: number; readonly ffmpegPath?: string }): MediaService =>
    new MediaService({
      ...{ ffmpegPath, allowPaths: [folder], allowPrivateUrls: false, maxBytes: 1e9, maxDurationS: 40_000 },
      ...{ fetchTimeoutMs: 10_000, maxRedirects: 2, tempDir: temp, log: silentLogger },
      ...options,
    });
  const service = serviceWith({});
  let scope: MediaScope;
  Frames.before.each(() => void (scope = service.openScope()));
  Frames.after.each(() => scope[Symbol.asyncDispose]());
  Frames.after(() => service.close());

  const make = (name: string, ...args: readonly string[]) => makeMedia(ffmpegPath, join(folder, name), ...args);
  /** Pictures whose brightness is 16 + 4n in frame n, for the first 50 frames. */
  const graded = (rate: string, seconds: number, size = '64x48'): readonly string[] => [
    ...['-f', 'lavfi', '-i', `color=black:size=${size}:rate=${rate}:duration=${seconds}`],
    ...['-vf', `geq=lum='16+4*mod(N,50)':cb=128:cr=128,format=yuv420p`],
  ];
  const h264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-qp', '0', '-g', '10'];

  interface Seen {
    readonly time: number;
    /** The number of the frame, by its brightness. */
    readonly number: number;
  }

  async function read(name: string, options: FrameOptions, most = Infinity): Promise<Seen[]> {
    const video = await scope.open({ path: join(folder, name) }, { files: new Map() });
    const seen: Seen[] = [];
    for await (const { time, image } of video.frames(options)) {
      const reference = await image.forModel();
      const bytes = readFileSync(join(temp, reference.pixels.id));
      assert.is(createHash('sha256').update(bytes).digest('hex'), reference.pixels.sha256);
      assert.is(bytes.length, 3 * reference.width * reference.height);
      const level = ((bytes[bytes.length / 2] ?? 0) * 219) / 255;
      seen.push({ time, number: Math.round(level / 4) });
      if (seen.length >= most) break;
    }
    return seen;
  }

  const times = async (name: string, options: FrameOptions, most?: number): Promise<number[]> =>
    (await read(name, options, most)).map(({ time }) => time);
  const factsOf = async (name: string): Promise<VideoFacts> =>
    (await scope.open({ path: join(folder, name) }, { files: new Map() })).facts;
  const near = (actual: readonly number[], expected: readonly number[], what = ''): void => {
    const shown = `${what} is ${actual.join()}, not ${expected.join()}`;
    assert.is(actual.length, expected.length, shown);
    actual.forEach((value, at) => assert.ok(Math.abs(value - (expected[at] ?? NaN)) < 0.002, shown));
  };

  Frames('of a steady rate are chosen by rate, count and time, each with its own picture', async () => {
    await make('steady.mp4', ...graded('10', 4), ...h264);
    assert.equal(
      await read('steady.mp4', { every: 1 }),
      [0, 1, 2, 3].map((time) => ({ time, number: time * 10 })),
    );
    near(await times('steady.mp4', { every: 0.35 }), [0, 0.4, 0.7, 1.1, 1.4, 1.8, 2.1, 2.5, 2.8, 3.2, 3.5, 3.9]);
    assert.is((await times('steady.mp4', { every: 0.001 })).length, 40);
    near(await times('steady.mp4', { count: 4 }), [0, 1, 2, 3]);
    assert.is((await times('steady.mp4', { count: 1000 })).length, 40);
    assert.equal(await read('steady.mp4', { times: [3.95, 0.55, 0, 0, 99] }), [
      ...[39, 5, 0, 0, 39].map((number) => ({ time: number / 10, number })),
    ]);
    near(await times('steady.mp4', { keyframes: true }), [0, 1, 2, 3]);
    assert.equal(await times('steady.mp4', { times: [] }), []);
  });

  Frames('of a variable rate have the times that the file says', async () => {
    const frames = `select='eq(n,0)+eq(n,7)+eq(n,8)+eq(n,30)'`;
    const filters = `${graded('10', 4).at(-1)},${frames}`;
    await make('variable.mkv', ...graded('10', 4).with(5, filters), ...h264, '-fps_mode', 'vfr');
    const all = await read('variable.mkv', { every: 0.01 });
    near(
      all.map(({ time }) => time),
      [0, 0.7, 0.8, 3],
    );
    assert.equal(
      all.map(({ number }) => number),
      [0, 7, 8, 30],
    );
    near(await times('variable.mkv', { every: 1 }), [0, 3]);
    near(await times('variable.mkv', { times: [0.69, 2.9, 3.05, 50] }), [0, 0.8, 3, 3]);
  });

  Frames('of a video of ten hours are sought, not all decoded', async () => {
    await make('long.mp4', ...graded('1/60', 36_000), ...h264);
    near(await times('long.mp4', { times: [90, 119.9, 120, 35_999] }), [60, 60, 120, 35_940]);
    near(await times('long.mp4', { count: 5 }), [0, 7200, 14_400, 21_600, 28_800]);
    near(await times('long.mp4', { every: 9000 }), [0, 9000, 18_000, 27_000]);
    near(await times('long.mp4', { every: 30 }, 3), [0, 60, 120]);
  });

  Frames('of any container are the same, sought or decoded, at random times', async () => {
    const gaps = `${graded('2', 45).at(-1)},select='not(between(mod(n,40),12,33))'`;
    await make('source.mkv', ...graded('2', 45).with(5, gaps), ...h264, '-fps_mode', 'vfr');
    for (const container of ['mp4', 'ts', 'flv']) {
      const name = `any.${container}`;
      await make(name, '-i', join(folder, 'source.mkv'), '-c', 'copy');
      const all = await times(name, { every: 1e-9 });
      assert.is(all.length, 46, name);
      const wanted = [0, 2, 99, ...Array.from({ length: 3 }, () => Math.random() * 45)];
      near(
        await times(name, { times: wanted }),
        wanted.map((wish) => all.findLast((time) => time <= wish + 1e-3) ?? all[0]!),
        `${name}: ${wanted.join()}`,
      );
      for (const seconds of [9.5, 10 + Math.random() * 5]) {
        const number = (time: number): number => Math.floor((time + 1e-6) / seconds);
        const first = all.filter((time, at) => at === 0 || number(time) > number(all[at - 1]!));
        near(await times(name, { every: seconds }), first, `${name}: every ${seconds}`);
      }
    }
  });

  Frames('that are sought do not cost the rest of the video', async () => {
    await make('part.mp4', ...graded('10', 10), ...h264);
    await make('repeated.mp4', '-stream_loop', '99', '-i', join(folder, 'part.mp4'), '-c', 'copy');
    const report = join(folder, 'report.log');
    for (const [options, found] of [
      [{ times: [100.05] }, [100]],
      [{ count: 3 }, [0, 333.4, 666.7]],
    ] as const) {
      // ffmpeg reports each picture that it decodes, of its last run
      process.env.FFREPORT = `file=${report}:level=48`;
      near(await times('repeated.mp4', options as FrameOptions), found);
      delete process.env.FFREPORT;
      const decoded = readFileSync(report, 'utf8').match(/nal_unit_type: [15]\(/g)?.length ?? 0;
      assert.ok(decoded > 0 && decoded < 200, `${decoded} of 10,000 pictures were decoded`);
    }
  });

  Frames('of one interval are one where the pictures change their size', async () => {
    await make('small.ts', ...graded('10', 2.05), '-c:v', 'mpeg2video');
    await make('larger.ts', ...graded('10', 2, '128x96'), '-c:v', 'mpeg2video', '-output_ts_offset', '2.05');
    const joined = ['small.ts', 'larger.ts'].map((name) => readFileSync(join(folder, name)));
    writeFileSync(join(folder, 'sizes.ts'), Buffer.concat(joined));
    assert.equal((await times('sizes.ts', { every: 1 })).map(Math.floor), [0, 1, 2, 3]);
    assert.equal((await times('sizes.ts', { count: 4 })).length, 4);
  });

  Frames('need an ffmpeg that has what they need, or the error names what is missing', async () => {
    await make('steady.mp4', ...graded('10', 4), ...h264);
    const hdr = 'setparams=color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc,format=yuv420p10le';
    await make('hdr.mkv', ...graded('10', 1).with(5, hdr), '-c:v', 'ffv1');
    for (const [name, part, expected] of [
      ['steady.mp4', 'fps_mode', /has no option fps_mode_missing; .* need version 5\.1/],
      ['hdr.mkv', 'zscale', /without the filter zscale_missing/],
    ] as const) {
      const old = join(folder, `without-${part}`);
      // A shell that passes the arguments on, in which the name of the part is one that no ffmpeg has.
      const rename = `for a do shift; set -- "$@" "$(printf %s "$a" | sed 's/${part}/${part}_missing/g')"; done`;
      writeFileSync(old, `#!/bin/sh\n${rename}\nexec '${ffmpegPath}' "$@"\n`, { mode: 0o755 });
      await using other = serviceWith({ ffmpegPath: old });
      await using lacking = other.openScope();
      const video = await lacking.open({ path: join(folder, name) }, { files: new Map() });
      const error = await errorOf(video.frames({ every: 1 }).next());
      assert.is(error.name, 'VideoReadingException');
      assert.match(error.message, expected);
    }
  });

  Frames('that change by more than a threshold are chosen by scenes', async () => {
    const sources = ['testsrc=', 'color=white:', 'mandelbrot='].map((source) => `${source}size=96x64:rate=10`);
    const inputs = sources.flatMap((source) => ['-f', 'lavfi', '-t', '2', '-i', source]);
    const joined = '[0]setsar=1[a];[1]setsar=1[b];[2]setsar=1[c];[a][b][c]concat=n=3,format=yuv420p';
    await make('scenes.mp4', ...inputs, '-filter_complex', joined, ...h264);
    near(await times('scenes.mp4', { scenes: 0.3 }), [0, 2, 4]);
    assert.equal(await times('scenes.mp4', { scenes: 1 }), [0]);
  });

  Frames('count from the start of the file, also where its times begin late or the sound begins first', async () => {
    await make('late.ts', ...graded('10', 2), ...h264, '-output_ts_offset', '1000');
    near(await times('late.ts', { every: 1 }), [0, 1]);
    await make('sound.mkv', ...sine(440, 3), '-itsoffset', '1', ...graded('10', 2), ...h264, '-c:a', 'flac');
    near(await times('sound.mkv', { every: 1 }), [1, 2]);
    near(await times('sound.mkv', { times: [0, 1.55] }), [1, 1.5]);
  });

  Frames('are turned, square and scaled as a player shows them', async () => {
    await make('wide.mp4', ...graded('10', 1, '320x96'), ...h264);
    await make('turned.mp4', '-display_rotation', '90', '-i', join(folder, 'wide.mp4'), '-c', 'copy');
    await make('anamorphic.mp4', ...graded('10', 1, '72x58').with(5, 'setsar=2,format=yuv420p'), ...h264);
    const sizeOf = async (name: string, options: Partial<FrameOptions> = {}): Promise<string> => {
      const video = await scope.open({ path: join(folder, name) }, { files: new Map() });
      for await (const { image } of video.frames({ count: 1, ...options }))
        return `${image.info.width}x${image.info.height}`;
      return 'none';
    };
    const { width, height, frame_rate: rate } = await factsOf('turned.mp4');
    assert.equal([width, height, rate], [96, 320, 10]);
    assert.is(await sizeOf('turned.mp4'), '96x320');
    assert.is(await sizeOf('anamorphic.mp4'), '144x58');
    assert.is(await sizeOf('wide.mp4', { max_width: 64 }), '64x19');
    assert.is(await sizeOf('wide.mp4', { max_width: 9999, max_height: 48 }), '160x48');
    await make('large.mp4', ...graded('1', 1, '4096x2160').with(5, 'format=yuv420p'), ...h264);
    const [across, down] = (await sizeOf('large.mp4')).split('x').map(Number);
    assert.ok(across! * down! <= 2 ** 22 && across! > 2700, `${across}x${down}`);
  });

  Frames('of HDR have the brightness of a screen, and lines of interlaced frames belong together', async () => {
    const hdr = 'color=gray:size=64x48:rate=10:duration=1';
    const tags = 'setparams=color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc,format=yuv420p10le';
    const ffv1 = ['-c:v', 'ffv1'];
    await make('hdr.mkv', '-f', 'lavfi', '-i', hdr, '-vf', tags, ...ffv1);
    const [tone] = await read('hdr.mkv', { count: 1 });
    assert.ok(tone && tone.number > 15 && tone.number < 50, `${tone?.number}`);
    await make('untagged.mkv', '-f', 'lavfi', '-i', hdr, '-vf', tags.replace(/=bt2020(?:nc)?/g, '=unknown'), ...ffv1);
    assert.equal(await read('untagged.mkv', { count: 1 }), [tone]);
    const moving = "geq=lum='if(lt(mod(X-4*N,64),24),235,16)':cb=128:cr=128,format=yuv420p,interlace";
    const fields = ['-f', 'lavfi', '-i', 'color=black:size=64x48:rate=50:duration=1', '-vf', moving];
    await make('lines.ts', ...fields, '-flags', '+ilme+ildct', '-c:v', 'mpeg2video', '-q:v', '2');
    const video = await scope.open({ path: join(folder, 'lines.ts') }, { files: new Map() });
    for await (const { time, image } of video.frames({ every: 0.3 })) {
      const pixels = await image.pixels({ width: 64, height: 48 });
      const row = (y: number): number[] => Array.from({ length: 64 }, (_, x) => pixels[3 * (64 * y + x)] ?? 0);
      const torn = row(20).filter((value, x) => Math.abs(value - (row(21)[x] ?? 0)) > 100).length;
      assert.ok(torn <= 2, `at ${time} s ${torn} of 64 pixels differ from the line below`);
    }
  });

  Frames('of media without a video track are none, and of a cover none', async () => {
    await make('sound.wav', ...sine(440, 1));
    assert.equal(await times('sound.wav', { every: 1 }), []);
    await make('cover.png', '-f', 'lavfi', '-i', 'color=red:size=8x8', '-frames:v', '1');
    await make(
      'cover.mp3',
      '-i',
      join(folder, 'sound.wav'),
      '-i',
      join(folder, 'cover.png'),
      '-map',
      '0',
      '-map',
      '1',
      '-disposition:v',
      'attached_pic',
    );
    assert.equal(await times('cover.mp3', { times: [0] }), []);
  });

  Frames('of a track without pictures are refused, and its sound is there', async () => {
    const [input, filter] = [graded('10', 1).slice(0, 4), ['-vf', 'select=0,format=yuv420p']];
    const fragments = ['-movflags', 'empty_moov+default_base_moof', '-c:a', 'aac'];
    await make('nothing.mp4', ...input, ...sine(440, 2), ...filter, ...h264, ...fragments);
    for (const options of [{ every: 1 }, { times: [0] }, { keyframes: true as const }])
      assert.is((await errorOf(times('nothing.mp4', options))).name, 'VideoReadingException');
    const video = await scope.open({ path: join(folder, 'nothing.mp4') }, { files: new Map() });
    const { duration } = await video.extractAudio('mix');
    assert.ok(Math.abs(duration - 2) < 0.2, String(duration));
  });

  Frames('of a single picture are one at any time', async () => {
    await make('one.mp4', ...graded('10', 0.1), ...h264);
    const choices: FrameOptions[] = [
      ...[{ every: 1 }, { count: 3 }, { times: [5] }, { scenes: 0.1 }, { keyframes: true as const }],
    ];
    for (const options of choices) assert.equal(await times('one.mp4', options), [0], JSON.stringify(options));
  });

  Frames('of a cut file are those that it still has; a file of noise is refused', async () => {
    await make('cut.mkv', ...graded('10', 4, '320x240'), ...h264);
    const whole = readFileSync(join(folder, 'cut.mkv')).length;
    truncateSync(join(folder, 'cut.mkv'), Math.floor(whole / 2));
    const left = await times('cut.mkv', { every: 0.1 });
    assert.ok(left.length > 5 && left.length < 40, left.join());
    assert.ok((await times('cut.mkv', { times: [3.9] })).every((time) => time < 3.9));
    writeFileSync(join(folder, 'noise.mp4'), Buffer.alloc(10_000, 7));
    assert.is((await errorOf(times('noise.mp4', { every: 1 }))).name, 'VideoReadingException');
  });

  Frames('of a file that says a wrong duration are those that it has', async () => {
    await make('right.mkv', ...graded('2', 45), ...h264);
    const bytes = readFileSync(join(folder, 'right.mkv'));
    const at = bytes.indexOf(Buffer.from([0x44, 0x89, 0x88])) + 3; // the element `Duration`, a number of 8 bytes
    for (const [said, name] of [[20, 'short.mkv'] as const, [500, 'longer.mkv'] as const]) {
      bytes.writeDoubleBE(1000 * said, at);
      writeFileSync(join(folder, name), bytes);
      assert.is((await factsOf(name)).duration, said);
      near(await times(name, { times: [19.9, 31, 44.6, 99] }), [19.5, 31, 44.5, 44.5], `${name} at times`);
      near(await times(name, { every: 10 }), [0, 10, 20, 30, 40], `${name} sought at a rate`);
      assert.is((await times(name, { every: 9 })).length, 5, `${name} decoded at a rate`);
    }
  });

  Frames('of a file whose index is broken are found, or the error says what is wrong', async () => {
    const scrambled = (name: string, from: string, mark: string): void => {
      const bytes = readFileSync(join(folder, from));
      for (let at = bytes.lastIndexOf(mark, undefined, 'latin1') + 8; at < bytes.length; at++)
        bytes[at] = (7 * bytes[at]! + 13) % 256;
      writeFileSync(join(folder, name), bytes);
    };
    for (const container of ['mkv', 'avi', 'mp4']) await make(`index.${container}`, ...graded('10', 12), ...h264);
    scrambled('broken.mkv', 'index.mkv', '\x1c\x53\xbb\x6b');
    scrambled('broken.avi', 'index.avi', 'idx1');
    for (const name of ['broken.mkv', 'broken.avi']) {
      near(await times(name, { times: [5.05, 11.95] }), [5, 11.9], name);
      near(await times(name, { every: 10 }), [0, 10], name);
    }
    scrambled('broken.mp4', 'index.mp4', 'stsz');
    const bytes = readFileSync(join(folder, 'index.mp4'));
    writeFileSync(join(folder, 'none.mp4'), bytes.subarray(0, bytes.lastIndexOf('moov')));
    for (const name of ['broken.mp4', 'none.mp4'])
      for (const options of [{ times: [5] }, { every: 1 }])
        assert.is((await errorOf(times(name, options))).name, 'VideoReadingException', name);
  });

  Frames('of a file without its duration cannot be chosen by count', async () => {
    await make('raw.h264', ...graded('10', 2), ...h264, '-f', 'h264');
    const error = await errorOf(times('raw.h264', { count: 2 }));
    assert.is(error.name, 'VideoReadingException');
    assert.match(error.message, /does not say how long/);
    assert.is((await times('raw.h264', { every: 1 })).length, 2);
  });

  Frames('of a video that is longer than the limit are refused, also where the file denies it', async () => {
    const path = join(folder, 'long.mp4');
    await using other = serviceWith({ maxDurationS: 100 });
    await using limited = other.openScope();
    const all = async (name: string): Promise<number> => {
      let count = 0;
      const video = await limited.open({ path: join(folder, name) }, { files: new Map() });
      for await (const { image } of video.frames({ every: 0.1 })) count += image.info.width > 0 ? 1 : 0;
      return count;
    };
    assert.is((await errorOf(all('long.mp4'))).name, 'MediaTooLongException');
    await make('denied.mkv', '-i', path, '-c', 'copy', '-f', 'matroska', '-live', '1');
    assert.is((await errorOf(all('denied.mkv'))).name, 'MediaTooLongException');
  });

  Frames('are refused for options that choose nothing, several ways, or what cannot be', async () => {
    await make('steady.mp4', ...graded('10', 4), ...h264);
    const wrong = [
      ...[{}, { every: 0 }, { every: -1 }, { every: NaN }, { every: '1' }, { every: 1, count: 1 }, { count: 0 }],
      ...[{ count: 1.5 }, { count: 1e9 }, { times: [-1] }, { times: 3 }, { scenes: 2 }, { keyframes: false }],
      ...[{ every: 1, max_width: 0 }, { every: 1, maxWidth: 8 }, null, 'all'],
    ];
    for (const options of wrong) {
      const error = await errorOf(times('steady.mp4', options as never));
      assert.is(error.name, 'InvalidArguments', `${JSON.stringify(options)}: ${error.message}`);
    }
    assert.match((await errorOf(times('steady.mp4', { every: -1 }))).message, /every.*greater than 0/);
  });

  const decoders = async (): Promise<number> =>
    (await descendants(process.pid)).filter(({ command }) => command.includes('framecrc')).length;

  Frames('hold the decoder while nobody asks, and end it when the loop, the signal or the scope ends', async () => {
    await make('busy.mp4', '-f', 'lavfi', '-i', 'testsrc=size=320x240:rate=25:duration=4', ...h264);
    const open = async () => scope.open({ path: join(folder, 'busy.mp4') }, { files: new Map() });
    const video = await open();
    for await (const { image } of video.frames({ every: 0.04 })) {
      assert.is(await decoders(), 1);
      await image[Symbol.asyncDispose]();
      break;
    }
    assert.is(await decoders(), 0);
    const client = new AbortController();
    const frames = video.frames({ every: 0.04 }, { signal: client.signal });
    await frames.next();
    client.abort(new Error('gone'));
    assert.is(await frames.next().catch((error: Error) => error.message), 'gone');
    assert.is(await decoders(), 0);
    const left = video.frames({ every: 0.04 });
    await left.next();
    await scope[Symbol.asyncDispose]();
    assert.match(String(await left.next().catch((error: Error) => error.message)), /disposed/);
    assert.is(await decoders(), 0);
    assert.equal(
      readdirSync(temp, { recursive: true }).filter((name) => String(name).includes('/')),
      [],
    );
  });

  Frames('of four videos can be read at a time, and other work goes on while they wait', async () => {
    const video = await scope.open({ path: join(folder, 'busy.mp4') }, { files: new Map() });
    const readers = Array.from({ length: 4 }, () => video.frames({ every: 0.04 }));
    for (const reader of readers) assert.is((await reader.next()).done, false);
    assert.is((await errorOf(video.frames({ every: 1 }).next())).name, 'TooManyFrameReaders');
    const { image } = (await readers[0]!.next()).value as VideoFrame;
    assert.is((await image.pixels({ width: 2, height: 2 })).length, 12);
    await Promise.all(readers.map((reader) => reader.return()));
    assert.equal(await times('one.mp4', { every: 1 }), [0]);
  });
}

Frames.run();
