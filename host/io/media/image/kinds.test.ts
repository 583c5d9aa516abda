// Pictures of every kind, as programs, cameras and attackers make them.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateSync, gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaError } from '../../../base/core/errors.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import { cmykJpeg, type Ink } from '../../../test/helpers/media/cmyk-jpeg.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { makeMedia, stillPicture, testFfmpeg } from '../../../test/helpers/media/media-files.ts';
import { skip } from '../../../test/skip.ts';
import { imagePixels, probeImage } from '../image.ts';
import type { ImageInfo } from '../types.ts';
import type { Size } from './size.ts';

const Kinds = suite('kinds of pictures');
const folder = mkdtempSync(join(tmpdir(), 'aana-kinds-'));
Kinds.after(() => rmSync(folder, { recursive: true }));

const ffmpegPath = await testFfmpeg();
if (ffmpegPath === undefined) {
  skip('kinds of pictures', 'no ffmpeg');
} else {
  interface Read {
    readonly info: ImageInfo;
    readonly pixels: Uint8Array;
  }

  async function read(bytes: Uint8Array, size?: Size): Promise<Read> {
    const path = join(folder, 'picture');
    writeFileSync(path, bytes);
    const options = { ffmpegPath: ffmpegPath!, source: {} };
    const info = await probeImage(path, options);
    return { info, pixels: await imagePixels(path, info, size ?? info, options) };
  }

  const refused = (bytes: Uint8Array): Promise<AanaError> => errorOf(read(bytes)) as Promise<AanaError>;

  const chunk = (type: string, data: Uint8Array): Buffer => {
    const named = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(named));
    return Buffer.concat([length, named, sum]);
  };

  /** A PNG of one grey or of zeros, with further chunks before its pixels. */
  const png = (width: number, height: number, bits: number, kind: number, pixels: Uint8Array, ...more: Buffer[]) => {
    const head = Buffer.alloc(13);
    head.writeUInt32BE(width, 0);
    head.writeUInt32BE(height, 4);
    head.set([bits, kind, 0, 0, 0], 8);
    const chunks = [chunk('IHDR', head), ...more, chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))];
    return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...chunks]);
  };
  const black = (width: number, height: number, bitsOfPixel: number): Buffer =>
    deflateSync(Buffer.alloc((1 + Math.ceil((width * bitsOfPixel) / 8)) * height));

  const inks: Ink[] = [0, 1, 2, 3].flatMap((at) =>
    [0, 60, 128, 255].map((level) => [0, 1, 2, 3].map((part) => (part === at ? level : 0)) as unknown as Ink),
  );
  inks.push([200, 100, 50, 30], [20, 180, 90, 120], [255, 255, 255, 0], [30, 30, 30, 200], [255, 0, 255, 128]);

  Kinds('a JPEG of inks has the colours that they print, or is refused if it does not say which they are', async () => {
    for (const form of ['adobe', 'ycck'] as const) {
      const { info, pixels } = await read(cmykJpeg(inks, form));
      for (const [n, [cyan, magenta, yellow, key]] of inks.entries()) {
        const at = 3 * (3 * info.width + 8 * n + 4);
        const wanted = [cyan, magenta, yellow].map((ink) => ((255 - ink) * (255 - key)) / 255);
        const got = [...pixels.subarray(at, at + 3)];
        const shown = `${form}: ${inks[n]!.join()} became ${got.join()}, not ${wanted.map(Math.round).join()}`;
        assert.ok(
          got.every((value, part) => Math.abs(value - wanted[part]!) <= 8),
          shown,
        );
      }
    }
    const { name, message } = await refused(cmykJpeg(inks, 'plain'));
    assert.equal([name, message.includes('four inks')], ['ImageReadingException', true]);
  });

  Kinds('a PNG of one pixel, of one bit, of 16 bits and with a transparent palette is read', async () => {
    const first = async (bytes: Uint8Array): Promise<number[]> => [...(await read(bytes)).pixels.subarray(0, 3)];
    assert.equal(await first(png(1, 1, 8, 2, deflateSync(Buffer.from([0, 10, 200, 30])))), [10, 200, 30]);
    assert.equal(await first(png(9, 1, 1, 0, deflateSync(Buffer.from([0, 0x80, 0])))), [255, 255, 255]);
    const [grey] = await first(png(1, 1, 16, 0, deflateSync(Buffer.from([0, 0x80, 0]))));
    assert.ok(Math.abs(grey! - 128) <= 1, `${grey}`);
    const colours = [0, 0xff, 0xff, 0x80, 0, 0, 0, 0, 0xff, 0xff];
    assert.equal(await first(png(1, 1, 16, 6, deflateSync(Buffer.from([0, ...colours.slice(1, 9)])))), [255, 128, 0]);
    const palette = [chunk('PLTE', Buffer.from([1, 2, 3, 90, 80, 70])), chunk('tRNS', Buffer.from([255, 0]))];
    assert.equal(await first(png(1, 1, 8, 3, deflateSync(Buffer.from([0, 1])), ...palette)), [90, 80, 70]);
  });

  Kinds('of 30,000 × 30,000 pixels is refused with its size, and one at the limit is read', async () => {
    const large = await refused(png(30_000, 30_000, 1, 0, black(30_000, 30_000, 1)));
    assert.is(large.name, 'ImageTooLargeException');
    assert.match(large.message, /30000 × 30000 pixels/);
    const { info, pixels } = await read(png(8192, 8192, 8, 0, black(8192, 8192, 8)), { width: 16, height: 16 });
    assert.equal([info.width, info.height], [8192, 8192]);
    assert.ok(pixels.length === 3 * 256 && pixels.every((value) => value < 8));
  });

  Kinds('texts and profiles that become very large when they are unpacked stay out of memory', async () => {
    const zeros = deflateSync(Buffer.alloc(2 ** 28));
    const pixel = deflateSync(Buffer.from([0, 10, 200, 30]));
    for (const [type, head] of [
      ['zTXt', 'Comment\0\0'],
      ['iCCP', 'Profile\0\0'],
      ['iTXt', 'Comment\0\x01\0\0\0'],
    ] as const) {
      const bomb = chunk(type, Buffer.concat([Buffer.from(head, 'latin1'), zeros]));
      const found = await read(png(1, 1, 8, 2, pixel, bomb)).then(
        ({ pixels }) => [...pixels],
        ({ name }: Error) => name,
      );
      assert.ok(found === 'ImageReadingException' || String(found) === '10,200,30', `${type}: ${String(found)}`);
    }
  });

  Kinds('of a moving picture the first one is read', async () => {
    for (const [name, ...codec] of [['a.apng', '-f', 'apng'], ['a.gif'], ['a.webp', '-c:v', 'libwebp_anim']] as const) {
      const moving = ['-f', 'lavfi', '-i', 'color=white:size=40x30:rate=5:duration=1', '-vf', 'fade=out:1:4'];
      const path = await makeMedia(ffmpegPath, join(folder, name), ...moving, ...codec);
      const { info, pixels } = await read(readFileSync(path));
      assert.equal([info.width, info.height, pixels[0]! > 240], [40, 30, true], name);
    }
  });

  Kinds('a HEIC as libheif writes it, 64 × 96 pixels, red over blue, is read', async () => {
    const { info, pixels } = await read(readFileSync(join(packageRoot, 'host/io/media/fixtures/red-over-blue.heic')));
    assert.equal([info.width, info.height, info.format], [64, 96, 'hevc']);
    const [red, , , ...others] = pixels;
    const blue = others.at(-1)!;
    assert.ok(red! > 230 && others.at(-3)! < 25 && blue > 230, [red, ...others.slice(-3)].join());
  });

  Kinds('drawings and other files are refused by their kind', async () => {
    const drawing = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="/etc/passwd"/></svg>';
    for (const text of [drawing, `<?xml version="1.0"?>${drawing}`, `\ufeff${drawing}`, '%PDF-1.7', 'P6 1 1 255 abc'])
      for (const bytes of [Buffer.from(text), gzipSync(text)]) {
        const { name, message } = await refused(bytes);
        assert.is(name, 'ImageReadingException');
        assert.match(message, /not an image that can be read \(PNG, /);
      }
  });

  Kinds('a cut or changed file is refused in the words of the caller', async () => {
    for (const name of ['a.png', 'a.jpg', 'a.gif', 'a.webp', 'a.bmp']) {
      const whole = readFileSync(
        await makeMedia(ffmpegPath, join(folder, name), ...stillPicture('testsrc=size=64x64')),
      );
      for (const keep of [13, 20, 40, whole.length >> 3]) {
        const found = await read(whole.subarray(0, keep)).catch((error: Error) => error);
        if (!(found instanceof Error)) continue; // a part of it can be read
        assert.is(found.name, 'ImageReadingException', `${name} of ${keep} bytes: ${found.message}`);
        assert.not.match(found.message, /0x[0-9a-f]{4}|\[|aana-kinds|pipe:|file:/, `${name} of ${keep} bytes`);
      }
    }
  });
}

Kinds.run();
