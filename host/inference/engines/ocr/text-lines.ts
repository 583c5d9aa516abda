import type { OnnxRuntime, OnnxSession } from '../onnx/runtime.ts';
import { type Pixels, resized, upsideDown, writePlanes } from './pixels.ts';

/** A text and how sure the network is, from 0 to 1. */
export interface ReadText {
  readonly text: string;
  readonly confidence: number;
}

/** A line that was read as it lies, or turned by a half. */
export interface ReadLine extends ReadText {
  readonly isUpsideDown: boolean;
}

/** Results in the order of the lines. Yields between the batches that are computed. */
type Batched<T> = AsyncGenerator<undefined, T[], undefined>;

/** Height of a line for both networks. */
const HEIGHT = 48;
/** Most lines that are computed together. */
const BATCH = 6;
/** How many times the widest line of a batch may be as wide as the narrowest, because each one gets its width. */
const MAX_SPREAD = 1.25;
/** Least width of a line to read, and the width of a line whose orientation is asked for. */
const READ_WIDTH = 320;
const TURN_WIDTH = 192;
/** Probability from which on a line counts as upside down. */
const TURN_THRESHOLD = 0.9;
/** From this confidence on, a line that was turned is not read the other way, too. */
const SURE = 0.9;
/** The first class of the recognition stands for no character. */
const BLANK = 0;

const ratioOf = ({ width, height }: Pixels): number => width / height;

/** The networks that read a line. */
export class LineReader {
  readonly #runtime: OnnxRuntime;
  readonly #recognition: OnnxSession;
  readonly #orientation: OnnxSession | undefined;
  /** The characters of the classes from 1 on. */
  readonly #characters: readonly string[];

  constructor(
    runtime: OnnxRuntime,
    recognition: OnnxSession,
    orientation: OnnxSession | undefined,
    characters: readonly string[],
  ) {
    this.#runtime = runtime;
    this.#recognition = recognition;
    this.#orientation = orientation;
    this.#characters = characters;
  }

  /**
   * Reads lines. One that seems upside down is turned. If its text is not sure then, it is also read as it lies, and
   * the surer text counts, because the network for the orientation errs more often than the other one reads nonsense
   * with confidence. Yields between batches.
   */
  async *read(lines: readonly Pixels[]): Batched<ReadLine> {
    const turned = yield* this.#turned(lines);
    const texts = yield* this.#texts(lines.map((line, n) => (turned[n] ? upsideDown(line) : line)));
    const doubtful = [...lines.keys()].filter((n) => turned[n] && texts[n]!.confidence < SURE);
    const others = yield* this.#texts(doubtful.map((n) => lines[n]!));
    const upright = new Map(doubtful.map((n, at) => [n, others[at]!]));
    return texts.map((text, n) => {
      const other = upright.get(n);
      if (other && other.confidence >= text.confidence) return { ...other, isUpsideDown: false };
      return { ...text, isUpsideDown: turned[n]! };
    });
  }

  /** Returns whether each line is upside down. */
  async *#turned(lines: readonly Pixels[]): Batched<boolean> {
    const session = this.#orientation;
    if (!session) return lines.map(() => false);
    return yield* inBatches(
      lines,
      () => TURN_WIDTH,
      async (batch, width) => {
        const { data, dims } = await this.#run(session, batch, width);
        const classes = dims.at(-1)!;
        return batch.map((_, n) => data[n * classes + 1]! > TURN_THRESHOLD);
      },
    );
  }

  /** Returns the texts of lines that stand upright. */
  #texts(lines: readonly Pixels[]): Batched<ReadText> {
    const widthOf = (line: Pixels): number => Math.max(READ_WIDTH, Math.trunc(HEIGHT * ratioOf(line)));
    return inBatches(lines, widthOf, async (batch, width) => {
      const { data, dims } = await this.#run(this.#recognition, batch, width);
      const [, steps = 0, classes = 0] = dims;
      return batch.map((_, n) => this.#decoded(data.subarray(n * steps * classes, (n + 1) * steps * classes), classes));
    });
  }

  async #run(session: OnnxSession, batch: readonly Pixels[], width: number) {
    const values = 3 * HEIGHT * width;
    const input = new Float32Array(batch.length * values);
    for (const [n, line] of batch.entries()) {
      const lineWidth = Math.min(width, Math.max(1, Math.ceil(HEIGHT * ratioOf(line))));
      writePlanes(resized(line, lineWidth, HEIGHT), width, input.subarray(n * values, (n + 1) * values));
    }
    const tensor = new this.#runtime.Tensor('float32', input, [batch.length, 3, HEIGHT, width]);
    const [output] = Object.values(await session.run({ [session.inputNames[0]!]: tensor }));
    return { data: output!.data as Float32Array, dims: output!.dims };
  }

  /**
   * Takes the likeliest class of each step. Equal neighbours are one character, unless a blank is between them
   * (connectionist temporal classification).
   */
  #decoded(probabilities: Float32Array, classes: number): ReadText {
    let text = '';
    let sum = 0;
    let count = 0;
    let before = BLANK;
    for (let from = 0; from < probabilities.length; from += classes) {
      let best = 0;
      let highest = probabilities[from]!;
      for (let n = 1; n < classes; n += 1) {
        const probability = probabilities[from + n]!;
        if (probability <= highest) continue;
        best = n;
        highest = probability;
      }
      if (best !== BLANK && best !== before) {
        text += this.#characters[best - 1] ?? '';
        sum += highest;
        count += 1;
      }
      before = best;
    }
    return { text, confidence: count === 0 ? 0 : Math.min(sum / count, 1) };
  }
}

/** Computes lines in batches of similar widths. All lines of a batch get the width of the widest. */
async function* inBatches<T>(
  lines: readonly Pixels[],
  widthOf: (line: Pixels) => number,
  compute: (batch: readonly Pixels[], width: number) => Promise<readonly T[]>,
): Batched<T> {
  const order = lines.map((line, n) => ({ n, line, width: widthOf(line) })).toSorted((a, b) => a.width - b.width);
  const results: T[] = [];
  for (let begin = 0; begin < order.length;) {
    const widest = MAX_SPREAD * order[begin]!.width;
    const batch = order.slice(begin, begin + BATCH).filter(({ width }) => width <= widest);
    const computed = await compute(
      batch.map(({ line }) => line),
      batch.at(-1)!.width,
    );
    for (const [at, { n }] of batch.entries()) results[n] = computed[at]!;
    begin += batch.length;
    yield;
  }
  return results;
}
