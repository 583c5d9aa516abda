// Images that host code opens for language models.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testImage } from '../../../native/lib/fixtures/test-images.ts';
import { pngOf } from '../../inference/engines/openai/png.ts';
import type { AanaApp } from 'aana-host';
import { errorOf } from '../../test/helpers/error-of.ts';
import { testFfmpeg } from '../../test/helpers/media/media-files.ts';
import { skip } from '../../test/skip.ts';
import { makeApp, makeFolder, started } from '../fixtures/test-app.ts';

const OpenImage = suite('images that host code opens');
const ffmpeg = await testFfmpeg();
if (ffmpeg === undefined) {
  skip('images that host code opens', 'no ffmpeg');
} else {
  let folder = '';
  let app: AanaApp;
  const inFolder = (name: string): string => join(folder, name);
  const temporary = (): string[] =>
    readdirSync(inFolder('temp'), { recursive: true, encoding: 'utf8' }).filter(
      (name) => name.endsWith('.rgb') || /[/\\]\w+[/\\]\w+$/.test(name),
    );

  async function write(name: string, width: number, height: number): Promise<Uint8Array> {
    const { pixels } = testImage(1, width, height);
    writeFileSync(inFolder(name), await pngOf(pixels, width, height));
    return pixels;
  }

  OpenImage.before(async () => {
    folder = makeFolder();
    mkdirSync(inFolder('temp'));
    app = makeApp(folder, {}, { media: { ffmpeg_path: ffmpeg, temp_dir: inFolder('temp') } });
    await started(app);
  });
  OpenImage.after(async () => {
    await app?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = (name: string): ReturnType<AanaApp['openImage']> =>
    app.openImage({ path: inFolder(name) }, { allowPaths: [folder] });

  OpenImage('the pixels are in a file with their digest until the image is disposed', async () => {
    const pixels = await write('small.png', 40, 30);
    {
      await using image = await open('small.png');
      assert.equal(JSON.parse(JSON.stringify(image)), { pixels: image.pixels, width: 40, height: 30 });
      assert.is(image.pixels.sha256, createHash('sha256').update(pixels).digest('hex'));
      assert.equal(readFileSync(inFolder(join('temp', image.pixels.id))), Buffer.from(pixels));
    }
    assert.equal(temporary(), []);
  });

  OpenImage('a large image is scaled down with its ratio', async () => {
    await write('large.png', 3000, 2000);
    await using image = await open('large.png');
    assert.ok(image.width * image.height <= 2 ** 22 && image.width > 2400, `${image.width} × ${image.height}`);
    assert.ok(Math.abs(image.width / image.height - 1.5) < 0.01);
    assert.is(image.pixels.bytes, 3 * image.width * image.height);
  });

  OpenImage('paths, other files and extreme sizes are refused', async () => {
    await write('long.png', 2010, 10);
    writeFileSync(inFolder('words.png'), 'words');
    const refused = async (name: string): Promise<string> => (await errorOf(open(name))).message;
    assert.match(await refused('long.png'), /2010 × 10 pixels.*at most 200 times/);
    assert.match(await refused('words.png'), /not an image/);
    assert.is((await errorOf(app.openImage({ path: inFolder('long.png') }))).name, 'PathNotAllowedException');
    assert.equal(temporary(), []);
  });

  OpenImage.run();
}
