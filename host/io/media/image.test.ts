import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { makeMedia, stillPicture, testFfmpeg } from '../../test/helpers/media/media-files.ts';
import { skip } from '../../test/skip.ts';
import type { ImageEncoding } from '../../base/schemas/index.ts';
import { exifOrientation } from './image/exif-orientation.ts';
import { encodeImage, imagePixels, parseImage, probeImage } from './image.ts';
import { MediaService } from './service.ts';
import type { ImageInfo } from './types.ts';
import { errorOf } from '../../test/helpers/error-of.ts';

const Image = suite('images');
const folder = mkdtempSync(join(tmpdir(), 'aana-image-'));
Image.after(() => rmSync(folder, { recursive: true }));

Image('the size is not confused with other numbers of the description', () => {
  const described =
    "Input #0, png_pipe, from 'file:a':\n  Stream #0:0: Video: png, rgba(pc, gbr/unknown/unknown), 640x480 [SAR " +
    '2835:2835 DAR 4:3], 25 fps\n';
  assert.equal(parseImage(described), { width: 640, height: 480, format: 'png' });
  assert.is(parseImage('Stream #0:0: Video: png, none, 25 fps'), undefined);
});

const ffmpegPath = await testFfmpeg();
if (ffmpegPath === undefined) {
  skip('images of files', 'no ffmpeg');
} else {
  const nameOf = async (promise: Promise<unknown>): Promise<string> => (await errorOf(promise)).name;

  Image('are probed by their content, not by their names', async () => {
    for (const [name, format] of [
      ['a.png', 'png'],
      ['a.jpg', 'mjpeg'],
      ['a.gif', 'gif'],
      ['a.bmp', 'bmp'],
    ] as const) {
      const made = await makeMedia(ffmpegPath, join(folder, name), ...stillPicture('color=red:size=36x20'));
      const unnamed = join(folder, '%d');
      writeFileSync(unnamed, readFileSync(made));
      assert.equal(await probeImage(unnamed, { ffmpegPath, source: {} }), { width: 36, height: 20, format });
    }
  });

  Image('are refused when they are not images or broken', async () => {
    for (const content of ['', 'text', '\x89PNG\r\n\x1a\n', '#EXTM3U\n', '<svg/>']) {
      const path = join(folder, 'bad');
      writeFileSync(path, content, 'latin1');
      assert.is(await nameOf(probeImage(path, { ffmpegPath, source: {} })), 'ImageReadingException', content);
    }
  });

  Image('give their pixels in the requested size, row by row', async () => {
    const graph = 'color=red:size=4x2,format=rgb24[a];color=blue:size=4x2,format=rgb24[b];[a][b]vstack';
    const path = await makeMedia(ffmpegPath, join(folder, 'c.png'), ...stillPicture(graph));
    const info = await probeImage(path, { ffmpegPath, source: {} });
    const pixels = (width: number, height: number): Promise<Uint8Array> =>
      imagePixels(path, info, { width, height }, { ffmpegPath, source: {} });
    const own = [...(await pixels(4, 4))];
    const [red, blue] = [own.slice(0, 3), own.slice(-3)];
    assert.ok(red[0]! > 240 && red[2]! < 16 && blue[0]! < 16 && blue[2]! > 240, own.join());
    assert.equal(own, [...Array(8).fill(red).flat(), ...Array(8).fill(blue).flat()]);
    assert.equal([...(await pixels(1, 2))], [...red, ...blue]);
    assert.is((await pixels(2048, 2048)).length, 3 * 2 ** 22);
  });

  Image(
    'are refused for sizes that are too large or empty, and when they are broken or too large to decode',
    async () => {
      const path = await makeMedia(ffmpegPath, join(folder, 'd.png'), ...stillPicture('testsrc=size=64x64'));
      const info = { width: 64, height: 64, format: 'png' };
      const options = { ffmpegPath, source: {} };
      assert.is(
        await nameOf(imagePixels(path, info, { width: 2049, height: 2048 }, options)),
        'ImageTooLargeException',
      );
      assert.is(await nameOf(imagePixels(path, info, { width: 0, height: 1 }, options)), 'ImageReadingException');
      assert.is(
        await nameOf(imagePixels(path, { ...info, width: 2 ** 14, height: 2 ** 13 }, { width: 1, height: 1 }, options)),
        'ImageTooLargeException',
      );
      writeFileSync(path, readFileSync(path).subarray(0, 60));
      assert.is(await nameOf(imagePixels(path, info, { width: 8, height: 8 }, options)), 'ImageReadingException');
    },
  );

  /** The file of a JPEG with a segment of Exif that says how the picture is turned. */
  const turned = (jpeg: Buffer, orientation: number, isLittle: boolean): Buffer => {
    const short = (value: number): number[] => (isLittle ? [value, 0] : [0, value]);
    const long = (value: number): number[] => (isLittle ? [value, 0, 0, 0] : [0, 0, 0, value]);
    const entry = [...(isLittle ? [0x12, 0x01] : [0x01, 0x12]), ...short(3), ...long(1), ...short(orientation), 0, 0];
    const tiff = [...Buffer.from(isLittle ? 'II' : 'MM'), ...short(42), ...long(8), ...short(1), ...entry, ...long(0)];
    const data = [...Buffer.from('Exif\0\0'), ...tiff];
    const segment = Buffer.from([0xff, 0xe1, 0, data.length + 2, ...data]);
    return Buffer.concat([jpeg.subarray(0, 2), segment, jpeg.subarray(2)]);
  };

  Image('are turned as Exif says, in both orders of bytes', async () => {
    // The left half is white, the right half is black.
    const halves = 'color=white:size=32x32[a];color=black:size=32x32[b];[a][b]hstack';
    const path = await makeMedia(ffmpegPath, join(folder, 'halves.jpg'), ...stillPicture(halves));
    const jpeg = readFileSync(path);
    /** Where white is then: left, right, top or bottom. */
    const places = ['left', 'left', 'right', 'right', 'left', 'top', 'top', 'bottom', 'bottom'];
    for (const [orientation, place] of places.entries()) {
      writeFileSync(path, orientation === 0 ? jpeg : turned(jpeg, orientation, orientation % 2 === 0));
      const info = await probeImage(path, { ffmpegPath, source: {} });
      const isTall = place === 'top' || place === 'bottom';
      assert.equal([info.width, info.height], isTall ? [32, 64] : [64, 32], `${orientation}`);
      const pixels = await imagePixels(path, info, info, { ffmpegPath, source: {} });
      const isWhite = (x: number, y: number): boolean => (pixels[3 * (y * info.width + x)] ?? 0) > 128;
      const found = isTall ? (isWhite(16, 8) ? 'top' : 'bottom') : isWhite(8, 16) ? 'left' : 'right';
      assert.is(found, place, `orientation ${orientation}`);
    }
    writeFileSync(path, turned(jpeg, 99, true));
    assert.is((await probeImage(path, { ffmpegPath, source: {} })).width, 64);
    for (let length = 2; length < 60; length++) exifOrientation(turned(jpeg, 6, true).subarray(0, length));
  });

  Image('of every kind are read, or refused with the reason', async () => {
    const read = async (name: string, ...args: readonly string[]): Promise<readonly unknown[]> => {
      const path = await makeMedia(ffmpegPath, join(folder, name), ...args);
      const info = await probeImage(path, { ffmpegPath, source: {} });
      const [first] = await imagePixels(path, info, { width: 1, height: 1 }, { ffmpegPath, source: {} });
      return [info.width, info.height, first! > 200];
    };
    const white = 'color=white:size=40x30';
    const lossless = ['-c:v', 'libaom-av1', '-still-picture', '1', '-cpu-used', '8', '-crf', '0'];
    assert.equal(await read('dot.png', ...stillPicture('color=white:size=1x1')), [1, 1, true]);
    assert.equal(await read('deep.png', ...stillPicture(white), '-pix_fmt', 'rgb48be'), [40, 30, true]);
    assert.equal(await read('a.webp', ...stillPicture(white)), [40, 30, true]);
    assert.equal(await read('a.avif', ...stillPicture(white), ...lossless), [40, 30, true]);
    const moving = ['-f', 'lavfi', '-i', `${white}:rate=5:duration=1`, '-vf', 'fade=out:1:4'];
    assert.equal(await read('moving.gif', ...moving), [40, 30, true]);
    const header = Buffer.from('89504e470d0a1a0a0000000d4948445200007530000075300802000000', 'hex');
    const path = join(folder, 'bomb.png');
    writeFileSync(path, Buffer.concat([header, Buffer.alloc(4), Buffer.from('0000000049454e44ae426082', 'hex')]));
    const bomb = await errorOf(
      probeImage(path, { ffmpegPath, source: {} }).then((info) =>
        imagePixels(path, info, { width: 8, height: 8 }, { ffmpegPath, source: {} }),
      ),
    );
    assert.ok(['ImageReadingException', 'ImageTooLargeException'].includes(bomb.name), bomb.message);
  });

  Image('become files of other forms in the size and quality that is asked for', async () => {
    const path = await makeMedia(ffmpegPath, join(folder, 'e.png'), ...stillPicture('testsrc=size=320x240'));
    const options = { ffmpegPath, source: {} };
    const info = await probeImage(path, options);
    const encoded = async (
      encoding: ImageEncoding,
    ): Promise<{ bytes: number; about: ImageInfo; pixels: Uint8Array }> => {
      const file = await encodeImage(path, info, encoding, options);
      const to = join(folder, 'encoded');
      writeFileSync(to, file);
      const about = await probeImage(to, options);
      return { bytes: file.length, about, pixels: await imagePixels(to, about, about, options) };
    };
    const png = await encoded({ format: 'png' });
    assert.equal(png.about, { width: 320, height: 240, format: 'png' });
    assert.equal(png.pixels, await imagePixels(path, info, info, options));
    const [small, large] = [
      await encoded({ format: 'jpeg', quality: 1 }),
      await encoded({ format: 'jpeg', quality: 100 }),
    ];
    assert.is(large.about.format, 'mjpeg');
    assert.ok(small.bytes * 2 < large.bytes, `${small.bytes} and ${large.bytes} bytes`);
    const differs = large.pixels.filter((value, n) => Math.abs(value - (png.pixels[n] ?? 0)) > 32).length;
    assert.ok(differs < large.pixels.length / 50, `${differs} values differ`);
    assert.equal((await encoded({ format: 'jpeg', max_width: 64 })).about, { width: 64, height: 48, format: 'mjpeg' });
    for (const wrong of [
      {},
      { format: 'gif' },
      { format: 'jpeg', quality: 0 },
      { format: 'png', max_width: 0.5 },
      null,
    ])
      assert.is(await nameOf(encodeImage(path, info, wrong as ImageEncoding, options)), 'InvalidArguments');
  });

  Image('are opened by path, URL or part like videos', async () => {
    const path = await makeMedia(ffmpegPath, join(folder, 'b.png'), ...stillPicture('color=red:size=8x6'));
    const limits = { maxBytes: 1e6, maxDurationS: 60, fetchTimeoutMs: 60_000, maxRedirects: 2 };
    await using service = new MediaService({
      ...limits,
      ffmpegPath,
      allowPaths: [folder],
      allowPrivateUrls: true,
      tempDir: join(folder, 'temp'),
      log: silentLogger,
    });
    await using scope = service.openScope();
    const files = new Map([['file', { path, bytes: 1 }]]);
    const opened = await scope.openImage({ path }, { files });
    assert.equal(opened.info, { width: 8, height: 6, format: 'png' });
    assert.is((await opened.pixels({ width: 2, height: 2 })).length, 12);
    assert.equal((await scope.openImage({ content: 'file' }, { files })).info.width, 8);
    assert.is(await nameOf(scope.openImage({ content: 'other' }, { files })), 'UploadedFileNotFound');
    assert.is(await nameOf(scope.openImage({ path: '/etc/hostname' }, { files })), 'PathNotAllowedException');
  });
}

Image.run();
