// The entry of the thread that finds and reads the texts of images.
import { parentPort, workerData } from 'node:worker_threads';
import type { Refusal } from '../onnx/compute-thread.ts';
import { loadOnnxRuntime, openSession, reasonOf } from '../onnx/runtime.ts';
import { type BoxOptions, inReadingOrder, textBoxes } from './text-boxes.ts';
import { cropped, letterboxed, type Pixels, type Quad, resized, upsideDown, writePlanes } from './pixels.ts';
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

export type OcrQuestion = Pixels & BoxOptions & { readonly minConfidence: number };

export interface FoundLine extends ReadText {
  readonly box: Quad;
  readonly isUpsideDown: boolean;
}

export interface OcrAnswer {
  readonly lines: readonly FoundLine[];
}

/** The sizes that PaddleOCR's detection was tuned for: sides in pixels, and multiples that the network needs. */
const MAX_SIDE = 2000;
const MIN_SIDE = 30;
const DETECTION_SIDE = 736;
const MULTIPLE = 32;
/** Above this ratio of width to height, an image gets black rows, because the network sees no text in strips. */
const MAX_RATIO = 8;

const port = parentPort!;
const spec = workerData as OcrThreadSpec;

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
    const scale = Math.max(1, DETECTION_SIDE / Math.min(image.width, image.height));
    const [width, height] = [multipleOf(image.width * scale), multipleOf(image.height * scale)];
    const input = new Float32Array(3 * width * height);
    writePlanes(resized(image, width, height), width, input);
    const tensor = new runtime.Tensor('float32', input, [1, 3, height, width]);
    const [output] = Object.values(await detection.run({ [detection.inputNames[0]!]: tensor }));
    const map = { width, height, probabilities: output!.data as Float32Array };
    return inReadingOrder(textBoxes(map, image.width, image.height, options));
  };

  port.on('message', async ({ minConfidence, ...question }: OcrQuestion) => {
    try {
      const image = usable(question);
      const rows = rowsAround(image);
      const searched = rows > 0 ? letterboxed(image, rows) : image;
      const boxes = await find(searched, question);
      const parts = boxes.map((box) => cropped(searched, box));
      const texts = await read(reader, parts);
      const [scaleX, scaleY] = [question.width / image.width, question.height / image.height];
      const lines = boxes.flatMap((box, n): FoundLine[] => {
        const { text, confidence, isUpsideDown } = texts[n]!;
        if (text === '' || confidence < minConfidence) return [];
        const original = box.map(([x, y]) => [
          inside(x * scaleX, question.width),
          inside((y - rows) * scaleY, question.height),
        ]) as unknown as Quad;
        return [{ box: original, text, confidence, isUpsideDown }];
      });
      port.postMessage({ lines } satisfies OcrAnswer);
    } catch (error) {
      port.postMessage({ reason: reasonOf(error) } satisfies Refusal);
    }
  });
  port.postMessage({});
} catch (error) {
  port.postMessage({ reason: reasonOf(error) } satisfies Refusal);
}

/**
 * Reads lines. One that seems upside down is read both ways, and the surer text counts, because the network for the
 * orientation errs more often than the other one reads nonsense with confidence.
 */
async function read(reader: LineReader, lines: readonly Pixels[]) {
  const [texts, turned] = [await reader.read(lines), await reader.turned(lines)];
  const doubtful = [...lines.keys()].filter((n) => turned[n]);
  const others = await reader.read(doubtful.map((n) => upsideDown(lines[n]!)));
  const surer = new Map(doubtful.map((n, at) => [n, others[at]!]));
  return texts.map((text, n) => {
    const other = surer.get(n);
    const isUpsideDown = other !== undefined && other.confidence > text.confidence;
    return { ...(isUpsideDown ? other : text), isUpsideDown };
  });
}

/** Returns the image in a size that the detection can search. */
function usable({ width, height, data }: Pixels): Pixels {
  const [long, short] = [Math.max(width, height), Math.min(width, height)];
  const scale = long > MAX_SIDE ? MAX_SIDE / long : short < MIN_SIDE ? MIN_SIDE / short : 1;
  if (scale === 1) return { width, height, data };
  return resized({ width, height, data }, multipleOf(width * scale), multipleOf(height * scale));
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
