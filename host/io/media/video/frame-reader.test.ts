// What readers of frames do with them, and what they cost others.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { FrameFileOptions, FrameOptions, ImageEncoding } from '../../../base/schemas/index.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { makeMedia, sine, testFfmpeg } from '../../../test/helpers/media/media-files.ts';
import { descendants } from '../../../test/helpers/server.ts';
import { skip } from '../../../test/skip.ts';
import { MediaService } from '../service.ts';
import type { FrameFile, VideoFrame, VideoMedia } from '../types.ts';

const Reader = suite('readers of frames');
const folder = mkdtempSync(join(tmpdir(), 'aana-reader-'));
const temp = join(folder, 'temp');
Reader.after(() => rmSync(folder, { recursive: true }));

const ffmpegPath = await testFfmpeg();
if (ffmpegPath === undefined) {
  skip('readers of frames', 'no ffmpeg');
} else {
  const service = new MediaService({
    ...{ ffmpegPath, allowPaths: [folder], allowPrivateUrls: false, maxBytes: 1e9, maxDurationS: 40_000 },
    ...{ fetchTimeoutMs: 10_000, maxRedirects: 2, tempDir: temp, log: silentLogger, maxProcesses: 1 },
  });
  Reader.after(() => service.close());

  const h264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-g', '10'];
  const make = (name: string, ...args: readonly string[]) => makeMedia(ffmpegPath, join(folder, name), ...args);
  Reader.before(async () => {
    await make('clip.mp4', '-f', 'lavfi', '-i', 'testsrc=size=96x64:rate=10:duration=2', ...h264);
  });
  const open = (scope: ReturnType<MediaService['openScope']>, name: string): Promise<VideoMedia> =>
    scope.open({ path: join(folder, name) }, { files: new Map() });

  const converters = async (): Promise<number> =>
    (await descendants(process.pid)).filter(({ command }) => command.includes('-i pipe:0')).length;
  /** Files of frames. */
  const files = (): string[] =>
    readdirSync(temp, { recursive: true })
      .map(String)
      .filter((name) => /\/.*\/[^.]*$/.test(name));
  const OWN = { width: 96, height: 64 };
  const SMALL = { width: 6, height: 4 };

  Reader('get the pixels and files of a frame at any time until they give it back', async () => {
    await using scope = service.openScope();
    const video = await open(scope, 'clip.mp4');
    const kept: { readonly frame: VideoFrame; readonly pixels: Uint8Array; readonly jpeg: Uint8Array }[] = [];
    for await (const frame of video.frames({ every: 0.1 })) {
      const pixels = Uint8Array.from(await frame.image.pixels(OWN));
      assert.is(pixels.length, 3 * 96 * 64);
      kept.push({ frame, pixels, jpeg: await frame.image.encode({ format: 'jpeg' }) });
    }
    assert.is(kept.length, 20);
    assert.is(new Set(kept.map(({ pixels }) => Buffer.from(pixels).toString('latin1'))).size, 20);
    for (const { frame, pixels, jpeg } of kept) {
      assert.equal(Uint8Array.from(await frame.image.pixels(OWN)), pixels, `${frame.time}`);
      assert.equal(await frame.image.encode({ format: 'jpeg' }), jpeg);
      const reference = await frame.image.forModel();
      assert.equal(Uint8Array.from(readFileSync(join(temp, reference.pixels.id))), pixels);
      await frame.image[Symbol.asyncDispose]();
      const uses = [
        () => frame.image.pixels(OWN),
        () => frame.image.encode({ format: 'png' }),
        () => frame.image.forModel(),
      ];
      for (const use of uses) assert.is((await errorOf(use())).name, 'InvalidHandle');
    }
    assert.equal([await converters(), files()], [0, []]);
  });

  Reader(
    'start a process for each kind of conversion, not for each frame, and write no file for what they skip',
    async () => {
      await using scope = service.openScope();
      const video = await open(scope, 'clip.mp4');
      const counts: number[] = [];
      for await (const { image } of video.frames({ every: 0.1 })) {
        assert.is((await image.pixels(SMALL)).length, 72);
        if (counts.length % 2 === 0) await image.encode({ format: 'png' });
        if (counts.length % 5 === 0) await image.encode({ format: 'jpeg', quality: 1 + counts.length });
        counts.push(await converters());
        await image[Symbol.asyncDispose]();
        assert.equal(files(), []);
      }
      assert.is(counts.length, 20);
      assert.ok(Math.max(...counts) <= 2, counts.join());
      assert.is(await converters(), 0);
    },
  );

  Reader('get files from the decoder that are those of encoded frames, however they are chosen', async () => {
    await using scope = service.openScope();
    const video = await open(scope, 'clip.mp4');
    const choices: readonly FrameOptions[] = [
      { every: 0.3 },
      { count: 2 },
      { times: [0.4, 1.95] },
      { keyframes: true },
    ];
    const forms: readonly ImageEncoding[] = [{ format: 'jpeg' }, { format: 'jpeg', quality: 20 }, { format: 'png' }];
    const shown = ({ time, width, height, file }: FrameFile): string =>
      `${time}: ${width} × ${height}, ${createHash('sha256').update(file).digest('hex')}`;
    for (const [at, choice] of choices.flatMap((one) => [one, { ...one, max_width: 31 }]).entries()) {
      const form = forms[at % forms.length]!;
      const encoded: string[] = [];
      for await (const { time, image } of video.frames(choice)) {
        const { width, height } = image.info;
        encoded.push(shown({ time, width, height, file: await image.encode(form) }));
        await image[Symbol.asyncDispose]();
      }
      const decoded: string[] = [];
      for await (const frame of video.frameFiles({ ...choice, ...form })) {
        assert.equal([await converters(), files()], [0, []]);
        decoded.push(shown(frame));
      }
      assert.ok(decoded.length > 1);
      assert.equal(decoded, encoded, JSON.stringify({ ...choice, ...form }));
    }
    for (const wrong of [
      { format: 'gif' },
      { quality: 90 },
      { format: 'jpeg', quality: 0 },
      { format: 'png', times: [1] },
    ])
      assert.is(
        (await errorOf((async () => video.frameFiles({ every: 1, ...wrong } as FrameFileOptions))())).name,
        'InvalidArguments',
      );
  });

  Reader('that leave in the midst of a conversion leave nothing, and others go on', async () => {
    await using scope = service.openScope();
    const video = await open(scope, 'clip.mp4');
    const leaving = new AbortController();
    const frames = video.frames({ every: 0.1 });
    const { image } = (await frames.next()).value as VideoFrame;
    await image.pixels(SMALL);
    const conversion = image.pixels(SMALL, { signal: leaving.signal });
    leaving.abort(new Error('gone'));
    assert.is(await conversion.catch((error: Error) => error.message), 'gone');
    assert.is((await image.pixels(SMALL)).length, 72);
    await scope[Symbol.asyncDispose]();
    assert.match((await errorOf(frames.next())).message, /disposed/);
    assert.equal([await converters(), files()], [0, []]);
  });

  Reader('of a long video let other users have their turns', async () => {
    // 4,000 frames take far longer than all turns of the other user, however fast the machine is
    const still = 'color=gray:size=3840x2160:rate=25:duration=1.6';
    await make('still.mp4', '-f', 'lavfi', '-i', still, ...h264, '-g', '40');
    await make('long.mp4', '-stream_loop', '99', '-i', join(folder, 'still.mp4'), '-c', 'copy');
    await using mine = service.openScope({ context: { userId: 'one' } });
    await using theirs = service.openScope({ context: { userId: 'other' } });
    const [long, clip] = [await open(mine, 'long.mp4'), await open(theirs, 'clip.mp4')];
    const order: string[] = [];
    const leaving = new AbortController();
    const scenes = (async () => {
      for await (const { time } of long.frames({ scenes: 1 }, leaving)) order.push(`scene at ${time}`);
      order.push('end');
    })();
    for await (const { image } of clip.frames({ every: 0.5 })) await image.pixels(SMALL);
    order.push('other');
    leaving.abort(new Error('seen enough'));
    assert.is((await errorOf(scenes, Error)).message, 'seen enough');
    assert.equal(order, ['scene at 0', 'other']);
  });

  Reader('are told about how many pixels were decoded for them, also for what they did not find', async () => {
    await using scope = service.openScope();
    const video = await open(scope, 'clip.mp4');
    const frame = 96 * 64;
    const decoded = async (options: FrameOptions): Promise<number> => {
      let pixels = 0;
      for await (const _ of video.frames(options, { onDecoded: (count) => (pixels += count) }));
      return pixels / frame;
    };
    for (const options of [{ every: 0.1 }, { every: 0.5 }, { scenes: 1 }]) {
      const frames = await decoded(options);
      assert.ok(frames >= 19 && frames <= 22, `${JSON.stringify(options)}: ${frames}`);
    }
    assert.is(await decoded({ keyframes: true }), 3);
    assert.ok((await decoded({ times: [1, 0] })) > 2);
  });

  Reader('of a file with 40 tracks get its frames, and any of its audio', async () => {
    const tracks = Array.from({ length: 39 }, () => ['-map', '1:a']).flat();
    await make(
      'many.mkv',
      ...[
        '-i',
        join(folder, 'clip.mp4'),
        ...sine(440, 2),
        '-map',
        '0:v',
        ...tracks,
        '-c:v',
        'copy',
        '-c:a',
        'pcm_s16le',
      ],
    );
    await using scope = service.openScope();
    const source = { path: join(folder, 'many.mkv'), audio_track: 38 };
    const video = await scope.open(source, { files: new Map() });
    assert.is(video.facts.tracks.length, 40);
    const times: number[] = [];
    for await (const { time } of video.frames({ every: 0.5 })) times.push(time);
    assert.equal(times, [0, 0.5, 1, 1.5]);
    assert.ok(Math.abs((await video.extractAudio('mix')).duration - 2) < 0.1);
    const beyond = { ...source, audio_track: 39 };
    const { name, message } = await errorOf(scope.open(beyond, { files: new Map() }));
    assert.is(name, 'AudioReadingException');
    assert.match(message, /39/);
  });
}

Reader.run();
