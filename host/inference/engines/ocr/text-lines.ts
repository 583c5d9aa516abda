import type { OnnxRuntime, OnnxSession } from '../onnx/runtime.ts';
import { type Pixels, resized, writePlanes } from './pixels.ts';

/** A text and how sure the network is, from 0 to 1. */
export interface ReadText {
  readonly text: string;
  readonly confidence: number;
}

/** Height of a line for both networks. */
const HEIGHT = 48;
/** Lines that are computed together. They are of similar widths, because each one is as wide as the widest. */
const BATCH = 6;
/** Least width of a line to read, and the width of a line whose orientation is asked for. */
const READ_WIDTH = 320;
const TURN_WIDTH = 192;
/** Probability from which on a line counts as upside down. */
const TURN_THRESHOLD = 0.9;
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

  /** Returns whether each line is upside down. */
  async turned(lines: readonly Pixels[]): Promise<boolean[]> {
    const session = this.#orientation;
    if (!session) return lines.map(() => false);
    return this.#inBatches(lines, async (batch) => {
      const { data, dims } = await this.#run(session, batch, TURN_WIDTH);
      const classes = dims.at(-1)!;
      return batch.map((_, n) => data[n * classes + 1]! > TURN_THRESHOLD);
    });
  }

  /** Returns the texts of lines that stand upright. */
  read(lines: readonly Pixels[]): Promise<ReadText[]> {
    return this.#inBatches(lines, async (batch) => {
      const widest = Math.max(...batch.map((line) => HEIGHT * ratioOf(line)));
      const { data, dims } = await this.#run(this.#recognition, batch, Math.max(READ_WIDTH, Math.trunc(widest)));
      const [, steps = 0, classes = 0] = dims;
      return batch.map((_, n) => this.#decoded(data.subarray(n * steps * classes, (n + 1) * steps * classes), classes));
    });
  }

  /** Computes lines in batches of similar widths, and returns the results in the order of the lines. */
  async #inBatches<T>(
    lines: readonly Pixels[],
    compute: (batch: readonly Pixels[]) => Promise<readonly T[]>,
  ): Promise<T[]> {
    const order = [...lines.keys()].toSorted((one, other) => ratioOf(lines[one]!) - ratioOf(lines[other]!));
    const results: T[] = [];
    for (let begin = 0; begin < order.length; begin += BATCH) {
      const numbers = order.slice(begin, begin + BATCH);
      const computed = await compute(numbers.map((n) => lines[n]!));
      for (const [at, n] of numbers.entries()) results[n] = computed[at]!;
    }
    return results;
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
      for (let n = 1; n < classes; n += 1) if (probabilities[from + n]! > probabilities[from + best]!) best = n;
      if (best !== BLANK && best !== before) {
        text += this.#characters[best - 1] ?? '';
        sum += probabilities[from + best]!;
        count += 1;
      }
      before = best;
    }
    return { text, confidence: count === 0 ? 0 : Math.min(sum / count, 1) };
  }
}
