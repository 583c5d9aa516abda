import { inflateSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testImage } from '../../../../native/lib/fixtures/test-images.ts';
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { imagePixels, probeImage } from '../../../io/media/image.ts';
import { ffmpegPath } from '../../../test/helpers/media/media.ts';
import { pngOf } from './png.ts';

const Png = suite('PNG files of pixels');

Png('ffmpeg reads the same pixels', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'aana-png-'));
  try {
    for (const [width, height] of [
      [1, 1],
      [3, 7],
      [200, 90],
    ] as const) {
      const { pixels } = testImage(3, width, height);
      const path = join(folder, 'a.png');
      writeFileSync(path, await pngOf(pixels, width, height));
      const options = { ffmpegPath: ffmpegPath(), source: { path } };
      const info = await probeImage(path, options);
      assert.equal(info, { width, height, format: 'png' });
      assert.equal(Buffer.from(await imagePixels(path, info, { width, height }, options)), Buffer.from(pixels));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

Png('the rows have no filter', async () => {
  const png = await pngOf(Uint8Array.of(1, 2, 3, 4, 5, 6), 1, 2);
  const at = png.indexOf('IDAT');
  assert.equal([...inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)))], [0, 1, 2, 3, 0, 4, 5, 6]);
});

Png.run();
