import { notUsable, type UsedModel } from '../onnx/not-usable.ts';
import { openSession, type OnnxRuntime, type OnnxSession, type OnnxTensor } from '../onnx/runtime.ts';

/** A tensor of 32-bit floats. */
interface FloatTensor extends OnnxTensor {
  readonly data: Float32Array;
}

/** A network with one input and one output of 32-bit floats. */
export class OnnxNetwork {
  readonly file: string;
  readonly #runtime: OnnxRuntime;
  readonly #session: OnnxSession;
  readonly #input: string;
  readonly #output: string;

  private constructor(file: string, runtime: OnnxRuntime, session: OnnxSession, input: string, output: string) {
    this.file = file;
    this.#runtime = runtime;
    this.#session = session;
    this.#input = input;
    this.#output = output;
  }

  /** Loads a model. Throws `ModelFormatError` for a file that is no ONNX model with one input and one output. */
  static async load(runtime: OnnxRuntime, file: string, threads: number): Promise<OnnxNetwork> {
    const session = await openSession(runtime, file, threads).catch((error: unknown) => {
      throw notUsable(modelOf(file), error instanceof Error ? error.message : String(error), error);
    });
    const [input, ...furtherInputs] = session.inputNames;
    const [output] = session.outputNames;
    if (input === undefined || output === undefined || furtherInputs.length > 0)
      throw notUsable(
        modelOf(file),
        `it has the inputs ${session.inputNames.join(', ')} and the outputs ${session.outputNames.join(', ')}`,
      );
    return new OnnxNetwork(file, runtime, session, input, output);
  }

  /** Computes the output. The computation blocks the thread, so the values must be few. */
  async run(values: Float32Array, shape: readonly number[]): Promise<FloatTensor> {
    const answer = await this.#session.run({ [this.#input]: new this.#runtime.Tensor('float32', values, shape) });
    const output = answer[this.#output];
    if (output?.type !== 'float32') throw new Error(`${this.#output} is ${output?.type ?? 'missing'}, not float32`);
    return output as FloatTensor;
  }

  /** Runs the network once and throws `ModelFormatError` unless the shape of the answer is accepted. */
  async probe(
    shape: readonly number[],
    isExpected: (dims: readonly number[]) => boolean,
    wanted: string,
  ): Promise<void> {
    const size = shape.reduce((product, length) => product * length, 1);
    const values = Float32Array.from({ length: size }, (_, at) => Math.sin(0.01 * at) / 10);
    const { dims } = await this.run(values, shape).catch((error: unknown) => {
      throw notUsable(
        modelOf(this.file),
        `${wanted}: ${error instanceof Error ? error.message : String(error)}`,
        error,
      );
    });
    if (!isExpected(dims)) throw notUsable(modelOf(this.file), `${wanted}, but it answers ${dims.join(' × ')}`);
  }

  async close(): Promise<void> {
    await this.#session.release();
  }
}

const modelOf = (file: string): UsedModel => ({ name: file, task: 'diarization', place: { file } });
