import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { makeMedia, stillPicture, testFfmpeg } from '../../test/helpers/media/media-files.ts';
import { skip } from '../../test/skip.ts';
import { imagePixels, parseImage, probeImage } from './image.ts';
import { MediaService } from './service.ts';
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
