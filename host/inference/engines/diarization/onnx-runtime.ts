import { createRequire } from 'node:module';
import { type AanaError, fail } from '../../../base/core/errors.ts';

/** The used part of the package `onnxruntime-node`, which is fetched when a deployment needs it. */
export interface OnnxRuntime {
  readonly InferenceSession: {
    create(path: string, options: Readonly<Record<string, unknown>>): Promise<OnnxSession>;
  };
  readonly Tensor: new (type: 'float32', data: Float32Array, dims: readonly number[]) => OnnxTensor;
}

export interface OnnxTensor {
  readonly type: string;
  readonly dims: readonly number[];
  readonly data: Float32Array;
}

export interface OnnxSession {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(feeds: Readonly<Record<string, OnnxTensor>>): Promise<Readonly<Record<string, OnnxTensor>>>;
  release(): Promise<void>;
}

/** Loads the runtime. Throws `ModelDamaged`, which says how to get another copy. */
export function loadOnnxRuntime(path: string): OnnxRuntime {
  try {
    return createRequire(import.meta.url)(path) as OnnxRuntime;
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw fail(
      'ModelDamaged',
      `the ONNX Runtime at ${path} cannot be loaded: ${reason}; run "aana-host models rm onnxruntime" and ` +
        `"aana-host models pull onnxruntime"`,
      { data: { id: 'onnxruntime', file: path }, cause: error },
    );
  }
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
    const session = await runtime.InferenceSession.create(file, {
      executionProviders: ['cpu'],
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      executionMode: 'sequential',
      logSeverityLevel: 3,
    }).catch((error: unknown) => {
      throw notUsable(file, error instanceof Error ? error.message : String(error), error);
    });
    const [input, ...furtherInputs] = session.inputNames;
    const [output] = session.outputNames;
    if (input === undefined || output === undefined || furtherInputs.length > 0)
      throw notUsable(
        file,
        `it has the inputs ${session.inputNames.join(', ')} and the outputs ${session.outputNames.join(', ')}`,
      );
    return new OnnxNetwork(file, runtime, session, input, output);
  }

  /** Computes the output. The computation blocks the thread, so the values must be few. */
  async run(values: Float32Array, shape: readonly number[]): Promise<OnnxTensor> {
    const answer = await this.#session.run({ [this.#input]: new this.#runtime.Tensor('float32', values, shape) });
    const output = answer[this.#output];
    if (output?.type !== 'float32') throw new Error(`${this.#output} is ${output?.type ?? 'missing'}, not float32`);
    return output;
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
      throw notUsable(this.file, `${wanted}: ${error instanceof Error ? error.message : String(error)}`, error);
    });
    if (!isExpected(dims)) throw notUsable(this.file, `${wanted}, but it answers ${dims.join(' × ')}`);
  }

  async close(): Promise<void> {
    await this.#session.release();
  }
}

function notUsable(file: string, reason: string, cause?: unknown): AanaError {
  return fail('ModelFormatError', `${file} cannot be used for diarization: ${reason}`, {
    data: { file },
    cause,
  });
}
