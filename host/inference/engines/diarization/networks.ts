import { loadOnnxRuntime } from '../onnx/runtime.ts';
import { BANDS, centredRows, filterBank, frameCount } from './filter-bank.ts';
import { normalised } from './clusters.ts';
import { OnnxNetwork } from './onnx-network.ts';
import { CLASSES } from './voice-tracks.ts';

/** Samples of a window of the segmentation, and its frames. */
export const WINDOW_SAMPLES = 160_000;
export const WINDOW_FRAMES = 589;
/** Samples from the start of a frame of the segmentation to the next one. */
export const FRAME_SAMPLES = 270;

/** Features of a probe of two seconds. */
const PROBE_FRAMES = 200;

/** The two networks of a replica. */
export class Networks {
  readonly #segmentation: OnnxNetwork;
  readonly #embedding: OnnxNetwork;

  private constructor(segmentation: OnnxNetwork, embedding: OnnxNetwork) {
    this.#segmentation = segmentation;
    this.#embedding = embedding;
  }

  /** Loads both networks and tries them. Throws `ModelFormatError` for models of other shapes. */
  static async load(runtimePath: string, segmentation: string, embedding: string, threads: number): Promise<Networks> {
    const runtime = loadOnnxRuntime(runtimePath);
    const networks = new Networks(
      await OnnxNetwork.load(runtime, segmentation, threads),
      await OnnxNetwork.load(runtime, embedding, threads),
    );
    await networks.#segmentation.probe(
      [1, 1, WINDOW_SAMPLES],
      ([windows, frames, classes]) => windows === 1 && frames === WINDOW_FRAMES && classes === CLASSES,
      `a segmentation model takes [1, 1, ${WINDOW_SAMPLES}] samples and answers [1, ${WINDOW_FRAMES}, ${CLASSES}]`,
    );
    await networks.#embedding.probe(
      [1, PROBE_FRAMES, BANDS],
      ([vectors, dimensions = 0, ...more]) => vectors === 1 && dimensions > 1 && more.length === 0,
      `an embedding model takes [1, frames, ${BANDS}] features and answers one vector`,
    );
    return networks;
  }

  /** Returns the log-probabilities of the classes for each frame of a window. */
  async segment(window: Float32Array): Promise<Float32Array> {
    const { data } = await this.#segmentation.run(window, [1, 1, window.length]);
    if (!data.every(Number.isFinite)) throw new Error('the segmentation model answers numbers that are not finite');
    return data;
  }

  /**
   * Returns the vector of the voice in some samples, with the length 1. `isKept` says of each of their features, by its
   * middle in samples, whether it counts. Undefined if too few features are left.
   */
  async embed(
    samples: Float32Array,
    leastFrames: number,
    isKept: (middle: number) => boolean,
  ): Promise<Float32Array | undefined> {
    const rows = Array.from({ length: frameCount(samples.length) }, (_, row) => row).filter((row) =>
      isKept(row * 160 + 200),
    );
    if (rows.length < Math.max(2, leastFrames)) return undefined;
    const features = centredRows(filterBank(samples), rows);
    const { data } = await this.#embedding.run(features, [1, rows.length, BANDS]);
    return data.every(Number.isFinite) ? normalised(data) : undefined;
  }

  async close(): Promise<void> {
    await this.#segmentation.close();
    await this.#embedding.close();
  }
}
