// The entry of the thread that finds and reads the texts of images.
import { readFile } from 'node:fs/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Refusal } from '../onnx/compute-thread.ts';
import { loadOnnxRuntime, openSession, reasonOf } from '../onnx/runtime.ts';
import { cropped, letterboxed, type Pixels, type Quad, resized, writePlanes } from './pixels.ts';
import { angleOf, inReadingOrder } from './reading-order.ts';
import { type BoxOptions, textBoxes } from './text-boxes.ts';
import { LineReader, type ReadText } from './text-lines.ts';

export interface OcrThreadSpec {
  /** File of the runtime. */
  readonly runtime: string;
  /** Files of the networks. */
  readonly detection: string;
  readonly recognition: string;
  readonly orientation?: string | undefined;
  /** The characters of the recognition's classes from 1 on. */
  readonly characters: readonly string[];
  readonly threads: number;
}

/** An image: the file with its pixels, as `Pixels` has them. */
export interface OcrImage extends BoxOptions {
  readonly file: string;
  readonly width: number;
  readonly height: number;
  readonly minConfidence: number;
}

/**
 * One step for a page, whose number the asker chooses: the first one with its image, then further ones until the answer
 * has lines. `isOver` is for a page whose lines nobody wants any more.
 */
export interface OcrQuestion {
  readonly page: number;
  readonly image?: OcrImage;
  readonly isOver?: boolean;
}

export interface FoundLine extends ReadText {
  readonly box: Quad;
  readonly angle: number;
}

export interface OcrAnswer {
  /** Absent while there is more to do. */
  readonly lines?: readonly FoundLine[] | undefined;
}

/** The sizes that PaddleOCR's detection was tuned for: sides in pixels, and multiples that the network needs. */
const MAX_SIDE = 2000;
const MIN_SIDE = 30;
const DETECTION_SIDE = 736;
const MULTIPLE = 32;
/** Most pixels of an image that is enlarged for the detection, which needs about 500 bytes of memory for each. */
const MAX_ENLARGED = 2 ** 21;
/** Above this ratio of width to height, an image gets black rows, because the network sees no text in strips. */
const MAX_RATIO = 8;

const port = parentPort!;
const spec = workerData as OcrThreadSpec;
/** The pages that are being read. */
const pages = new Map<number, AsyncGenerator<undefined, FoundLine[], undefined>>();

try {
  const runtime = loadOnnxRuntime(spec.runtime);
  const open = (file: string) => openSession(runtime, file, spec.threads);
  const detection = await open(spec.detection);
  const reader = new LineReader(
    runtime,
    await open(spec.recognition),
    spec.orientation === undefined ? undefined : await open(spec.orientation),
    spec.characters,
  );

  const find = async (image: Pixels, options: BoxOptions): Promise<Quad[]> => {
    const { width, height } = detectionSize(image);
    const input = new Float32Array(3 * width * height);
    writePlanes(resized(image, width, height), width, input);
    const tensor = new runtime.Tensor('float32', input, [1, 3, height, width]);
    const [output] = Object.values(await detection.run({ [detection.inputNames[0]!]: tensor }));
    const map = { width, height, probabilities: output!.data as Float32Array };
    return textBoxes(map, image.width, image.height, options);
  };

  /** Returns the lines of an image. Yields between steps of at most some seconds. */
  const recognize = async function* ({ file, width, height, minConfidence, ...options }: OcrImage) {
    const image = usable({ width, height, data: await readFile(file) });
    const rows = rowsAround(image);
    const searched = rows > 0 ? letterboxed(image, rows) : image;
    const boxes = await find(searched, options);
    yield;
    const texts = yield* reader.read(boxes.map((box) => cropped(searched, box)));
    const lines = boxes.flatMap((box, n): FoundLine[] => {
      const { text, confidence, isUpsideDown } = texts[n]!;
      return text === '' || confidence < minConfidence
        ? []
        : [{ box, text, confidence, angle: angleOf(box, isUpsideDown) }];
    });
    const [scaleX, scaleY] = [width / image.width, height / image.height];
    return inReadingOrder(lines).map((line) => ({
      ...line,
      box: line.box.map(([x, y]) => [
        inside(x * scaleX, width),
        inside((y - rows) * scaleY, height),
      ]) as unknown as Quad,
    }));
  };

  port.on('message', async ({ page, image, isOver }: OcrQuestion) => {
    try {
      if (image) pages.set(page, recognize(image));
      const step = isOver ? undefined : await pages.get(page)?.next();
      if (isOver || step?.done) pages.delete(page);
      port.postMessage({ lines: step?.done ? step.value : undefined } satisfies OcrAnswer);
    } catch (error) {
      pages.delete(page);
      port.postMessage({ reason: reasonOf(error) } satisfies Refusal);
    }
  });
  port.postMessage({});
} catch (error) {
  port.postMessage({ reason: reasonOf(error) } satisfies Refusal);
}

/** Returns the image in a size that the detection can search. */
function usable({ width, height, data }: Pixels): Pixels {
  const [long, short] = [Math.max(width, height), Math.min(width, height)];
  const scale = long > MAX_SIDE ? MAX_SIDE / long : short < MIN_SIDE ? MIN_SIDE / short : 1;
  if (scale === 1) return { width, height, data };
  return resized({ width, height, data }, multipleOf(width * scale), multipleOf(height * scale));
}

/** Returns the size in which the detection searches an image. */
function detectionSize({ width, height }: Pixels): { readonly width: number; readonly height: number } {
  const wanted = DETECTION_SIDE / Math.min(width, height);
  const scale = Math.max(1, Math.min(wanted, Math.sqrt(MAX_ENLARGED / (width * height))));
  return { width: multipleOf(width * scale), height: multipleOf(height * scale) };
}

/** Returns how many black rows an image needs above and below. */
function rowsAround({ width, height }: Pixels): number {
  if (height > MIN_SIDE && width / height <= MAX_RATIO) return 0;
  const wanted = Math.max(Math.trunc(width / MAX_RATIO), MIN_SIDE) * 2;
  return Math.trunc(Math.abs(wanted - height) / 2);
}

function multipleOf(length: number): number {
  return Math.max(1, Math.round(Math.trunc(length) / MULTIPLE)) * MULTIPLE;
}

function inside(place: number, length: number): number {
  return Math.round(Math.min(Math.max(place, 0), length));
}
