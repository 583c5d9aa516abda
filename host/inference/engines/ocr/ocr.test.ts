// Texts in images through a deployment with the published networks, in a replica process of its own.
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type AanaApp, type HeldImage, type HandleOf, OcrDeployment } from 'aana-host';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeApp, makeFolder, started } from '../../../application/fixtures/test-app.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { makeMedia } from '../../../test/helpers/media/media-files.ts';
import { ffmpegPath } from '../../../test/helpers/media/media.ts';
import { cropped, type Pixels, type Point, type Quad, resized, upsideDown } from './pixels.ts';
import { textBoxes } from './text-boxes.ts';

const Ocr = suite('a deployment that reads texts in images');

const SLIDE = join(packageRoot, 'host/inference/engines/ocr/fixtures/slide.png');
const LINES = ['The water cycle', '1. Evaporation from the sea', '2. Clouds form at 2,000 m', '3. Rain and snow'];

let folder: string;
let app: AanaApp;
let ocr: HandleOf<typeof OcrDeployment>;

Ocr.before(async () => {
  folder = makeFolder();
  app = makeApp(folder, {}, { cache_dir: process.env['AANA_CACHE_DIR'] ?? folder });
  app.registerDeployment('ocr', OcrDeployment.options({ user_config: { threads: 1 } }));
  await started(app);
  ocr = app.handle(OcrDeployment, 'ocr');
});

Ocr.after(async () => {
  await app?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const open = (path: string): Promise<HeldImage> => app.openImage({ path }, { allowPaths: [dirname(path)] });

/** Returns an image that ffmpeg makes. */
const made = async (name: string, ...args: readonly string[]): Promise<HeldImage> =>
  open(await makeMedia(ffmpegPath()!, join(folder, `${name}.png`), ...args, '-frames:v', '1'));

/** Letters and digits without spaces, because these networks often lose the spaces between narrow words. */
const letters = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]/gu, '');
const textsOf = ({ lines }: { lines: readonly { text: string }[] }): string[] => lines.map(({ text }) => letters(text));
const EXPECTED = LINES.map(letters);

Ocr('reads the lines of a slide from top to bottom, with their places', async () => {
  await using image = await open(SLIDE);
  const page = await ocr.recognize({ image });
  assert.equal(textsOf(page), EXPECTED);
  for (const { confidence, angle } of page.lines) {
    assert.ok(confidence > 0.9 && confidence <= 1, `${confidence}`);
    assert.ok(Math.abs(angle) < 2, `${angle}`);
  }
  const [title, first] = page.lines.map(({ box }) => box);
  assert.ok(Math.abs(title![0][0] - 40) < 8 && Math.abs(title![0][1] - 35) < 12, JSON.stringify(title));
  assert.ok(title![3][1] < first![0][1]);
});

Ocr('reads slides in the order of reading, whichever way they lie, blurred, large or tilted', async () => {
  const slides = {
    blurred: { filter: 'gblur=0.8', angle: 0 },
    large: { filter: 'scale=2400:-1', angle: 0 },
    tilted: { filter: 'rotate=0.05:c=white', angle: 2.9 },
    clockwise: { filter: 'transpose=clock', angle: 90 },
    'on its head': { filter: 'hflip,vflip', angle: 180 },
    anticlockwise: { filter: 'transpose=cclock', angle: -90 },
  };
  for (const [name, { filter, angle }] of Object.entries(slides)) {
    await using image = await made(name.replaceAll(' ', '-'), '-i', SLIDE, '-vf', filter);
    const page = await ocr.recognize({ image });
    // A line of large letters may have a box for each word.
    assert.is(textsOf(page).join(''), EXPECTED.join(''), name);
    for (const line of page.lines)
      assert.ok(Math.abs(((line.angle - angle + 540) % 360) - 180) < 5, `${name}: ${line.angle}`);
  }
});

Ocr('reads an upright column and a strip', async () => {
  await using column = await made('column', '-i', SLIDE, '-vf', 'crop=400:50:30:115,transpose=1');
  const upright = textsOf(await ocr.recognize({ image: column }));
  assert.match(upright.join(''), /Evaporation/);
  // The words of a strip are boxes of their own, because the network sees them enlarged.
  await using strip = await made('strip', '-i', SLIDE, '-vf', 'crop=600:36:20:116');
  assert.match(textsOf(await ocr.recognize({ image: strip })).join(''), /Evaporationfromthesea$/);
});

Ocr('finds nothing in a dot, in one colour, in noise and in the longest strips, with bounded memory', async () => {
  const noise = (size: string): string => `nullsrc=s=${size},geq=r=random(1)*255:g=random(2)*255:b=random(3)*255`;
  const sources = [
    ...['color=red:s=1x1', 'color=gray:s=900x40'],
    // A process that needs too much memory is killed, and its call fails.
    ...['color=white:s=1x200', 'color=white:s=200x1', 'color=white:s=20x4000', 'color=white:s=4000x20'],
    ...[noise('320x240'), noise('1600x1200')],
  ];
  for (const [n, source] of sources.entries()) {
    await using image = await made(`empty-${n}`, '-f', 'lavfi', '-i', source);
    const { lines } = await ocr.recognize({ image });
    assert.ok(lines.length < 5, JSON.stringify(lines));
  }
});

Ocr('reads several images in their order, and tells the progress', async () => {
  await using slide = await open(SLIDE);
  await using empty = await made('white', '-f', 'lavfi', '-i', 'color=white:s=64x64');
  const told: unknown[] = [];
  const { images } = await ocr.recognize_batch(
    { images: [empty, slide, empty] },
    { onProgress: (progress) => void told.push(progress) },
  );
  assert.equal(images.map(textsOf), [[], EXPECTED, []]);
  assert.ok(told.length > 0);
});

Ocr('a caller who leaves ends the batch, and the next call is served', async () => {
  await using slide = await open(SLIDE);
  const leaving = new AbortController();
  const images = Array.from({ length: 256 }, () => slide);
  const left = errorOf(
    ocr.recognize_batch({ images }, { signal: leaving.signal, onProgress: () => leaving.abort() }),
    Error,
  );
  assert.match((await left).message, /abort/i);
  assert.equal(textsOf(await ocr.recognize({ image: slide })), EXPECTED);
});

Ocr('refuses files that are no networks, with their names', async () => {
  const wrong = async (config: object, message: RegExp): Promise<void> => {
    const other = makeApp(folder, {}, { cache_dir: process.env['AANA_CACHE_DIR'] ?? folder });
    other.registerDeployment('ocr', OcrDeployment.options({ user_config: { threads: 1, ...config } }));
    const error = await errorOf(other.deploy());
    assert.match(error.message, message);
    await other[Symbol.asyncDispose]();
  };
  await wrong({ recognition_model_id: SLIDE }, /slide\.png: /);
  await wrong({ recognition_model_id: 'pp-ocr-orientation' }, /has no property "character"/);
});

/** Points of a circle's directions, and sizes of a map. */
const rectangles = fc.record({
  x: fc.integer({ min: 60, max: 140 }),
  y: fc.integer({ min: 60, max: 140 }),
  length: fc.integer({ min: 30, max: 80 }),
  breadth: fc.integer({ min: 10, max: 20 }),
  angle: fc.double({ min: -0.6, max: 0.6, noNaN: true }),
});

Ocr('boxes lie around generated texts, a little larger than their inner parts', () => {
  fc.assert(
    fc.property(rectangles, ({ x, y, length, breadth, angle }) => {
      const size = 200;
      const [dx, dy] = [Math.cos(angle), Math.sin(angle)];
      const probabilities = new Float32Array(size * size);
      for (let row = 0; row < size; row += 1)
        for (let column = 0; column < size; column += 1) {
          const along = (column - x) * dx + (row - y) * dy;
          const across = (row - y) * dx - (column - x) * dy;
          if (Math.abs(along) <= length / 2 && Math.abs(across) <= breadth / 2)
            probabilities[row * size + column] = 0.9;
        }
      const map = { width: size, height: size, probabilities };
      const found = textBoxes(map, 2 * size, 2 * size, { boxThreshold: 0.5, unclipRatio: 1.6 });
      assert.is(found.length, 1);
      const centre = [0, 1].map((axis) => found[0]!.reduce((sum, corner) => sum + corner[axis]!, 0) / 4);
      assert.ok(Math.hypot(centre[0]! - 2 * x, centre[1]! - 2 * y) < 5, JSON.stringify({ found, x, y }));
      const by = (length * breadth * 1.6) / (length + breadth);
      const [wide, high] = [2 * (length + by), 2 * (breadth + by)];
      assert.ok(Math.abs(Math.hypot(...difference(found[0]!, 0, 1)) - wide) < 0.1 * wide + 6);
      assert.ok(Math.abs(Math.hypot(...difference(found[0]!, 0, 3)) - high) < 0.1 * high + 6);
    }),
    { numRuns: 50 },
  );
});

Ocr('pixels keep their places when an image is cut, turned or has another size', () => {
  const data = Uint8Array.from({ length: 3 * 40 * 30 }, (_, n) => (n * 7) % 251);
  const image: Pixels = { width: 40, height: 30, data };
  assert.equal(upsideDown(upsideDown(image)), image);
  assert.is(resized(image, 40, 30).data, data);
  const whole = (([left, top, right, bottom]) => [
    [left, top],
    [right, top],
    [right, bottom],
    [left, bottom],
  ])([5, 6, 25, 16] as const) as unknown as Quad;
  const part = cropped(image, whole);
  assert.equal([part.width, part.height], [20, 10]);
  for (let y = 0; y < 10; y += 1)
    assert.equal(
      part.data.subarray(y * 60, (y + 1) * 60),
      data.subarray(((y + 6) * 40 + 5) * 3, ((y + 6) * 40 + 25) * 3),
    );
});

const difference = (quad: Quad, one: number, other: number): Point => [
  quad[one]![0] - quad[other]![0],
  quad[one]![1] - quad[other]![1],
];

Ocr.run();
