// Runs in a replica: texts in images with the networks of PaddleOCR over the ONNX Runtime.
import type { ImageReference, OcrBatchOutput, OcrOutput } from '../../../base/schemas/index.ts';
import type { Implementation, StartContext } from '../../replicas/process/implementation.ts';
import type { CallContext } from '../../rpc/index.ts';
import { ComputeThread } from '../onnx/compute-thread.ts';
import { runFailed } from '../onnx/run-failed.ts';
import type { OcrAnswer, OcrImage, OcrQuestion, OcrThreadSpec } from './ocr-thread.ts';

/** The configuration of a replica, made by `inference/deployments/builtin/onnx/ocr-deployment.ts`. */
interface OcrSpec extends Omit<OcrThreadSpec, 'runtime'> {
  readonly model_name: string;
  readonly runtime_path: string;
  readonly max_memory_bytes: number;
  readonly settings: OcrSettings;
}

interface OcrSettings {
  readonly min_confidence: number;
  readonly box_threshold: number;
  readonly unclip_ratio: number;
}

type OcrThread = ComputeThread<object, OcrQuestion, OcrAnswer>;

const NEVER = new AbortController().signal;

export async function start(spec: OcrSpec, { artifactPath }: StartContext): Promise<Implementation> {
  const { runtime_path: runtime, detection, recognition, orientation, characters, threads } = spec;
  const thread = await ComputeThread.load<object, OcrQuestion, OcrAnswer>(
    new URL('./ocr-thread.js', import.meta.url),
    { runtime, detection, recognition, orientation, characters, threads } satisfies OcrThreadSpec,
    { model: { name: spec.model_name }, maxMemoryBytes: spec.max_memory_bytes },
  );
  const ocr = new Ocr(spec, thread, artifactPath);
  return {
    info: { model: spec.model_name },
    // The host has checked the arguments against the schemas of the deployment's methods.
    methods: {
      recognize: ({ image }, call) => ocr.page(image as ImageReference, call),
      recognize_batch: (args, call) => ocr.batch(args['images'] as readonly ImageReference[], call),
    },
    steps: () => thread.steps,
    activity: () => ({ busy: thread.isBusy, beats: thread.steps }),
    reconfigure: async (next) => ocr.reconfigure(next as unknown as OcrSpec),
    close: () => thread.close(),
  };
}

class Ocr {
  readonly #name: string;
  readonly #thread: OcrThread;
  readonly #artifactPath: StartContext['artifactPath'];
  #settings: OcrSettings;
  #pages = 0;

  constructor(spec: OcrSpec, thread: OcrThread, artifactPath: StartContext['artifactPath']) {
    this.#name = spec.model_name;
    this.#thread = thread;
    this.#artifactPath = artifactPath;
    this.#settings = spec.settings;
  }

  reconfigure({ settings }: OcrSpec): void {
    this.#settings = settings;
  }

  async page({ width, height, pixels }: ImageReference, { signal }: CallContext): Promise<OcrOutput> {
    const file = await this.#artifactPath(pixels);
    const { min_confidence: minConfidence, box_threshold: boxThreshold, unclip_ratio: unclipRatio } = this.#settings;
    const image = { file, width, height, minConfidence, boxThreshold, unclipRatio };
    const lines = await this.#lines(image, signal).catch(runFailed(this.#name, 'read the image'));
    return { lines: lines.map(({ text, confidence, box, angle }) => ({ text, confidence, box, angle })) } as OcrOutput;
  }

  async batch(images: readonly ImageReference[], call: CallContext): Promise<OcrBatchOutput> {
    const pages: OcrOutput[] = [];
    for (const image of images) {
      pages.push(await this.page(image, call));
      call.progress?.(pages.length / images.length);
    }
    return { images: pages };
  }

  /** Reads an image in steps, between which other calls have their turn and a caller can leave. */
  async #lines(image: OcrImage, signal: AbortSignal): Promise<NonNullable<OcrAnswer['lines']>> {
    const page = (this.#pages += 1);
    try {
      let { lines } = await this.#thread.run({ page, image }, signal);
      while (!lines) ({ lines } = await this.#thread.run({ page }, signal));
      return lines;
    } catch (error) {
      void this.#thread.run({ page, isOver: true }, NEVER).catch(() => {});
      throw error;
    }
  }
}
