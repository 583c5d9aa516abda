// Runs in a replica: texts in images with the networks of PaddleOCR over the ONNX Runtime.
import { readFile } from 'node:fs/promises';
import { fail } from '../../../base/core/errors.ts';
import type { ImageReference } from '../../../base/schemas/index.ts';
import type { Implementation, StartContext } from '../../replicas/process/implementation.ts';
import type { CallContext } from '../../rpc/index.ts';
import { ComputeThread, RefusedByRuntime } from '../onnx/compute-thread.ts';
import { runFailed } from '../onnx/run-failed.ts';
import type { FoundLine, OcrAnswer, OcrQuestion, OcrThreadSpec } from './ocr-thread.ts';

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

/** A text in an image. */
interface TextLine {
  readonly text: string;
  readonly confidence: number;
  readonly box: FoundLine['box'];
  readonly upside_down: boolean;
}

type OcrThread = ComputeThread<object, OcrQuestion, OcrAnswer>;

export async function start(spec: OcrSpec, { artifactPath }: StartContext): Promise<Implementation> {
  const { runtime_path: runtime, detection, recognition, orientation, characters, threads } = spec;
  const thread = await ComputeThread.load<object, OcrQuestion, OcrAnswer>(
    new URL('./ocr-thread.js', import.meta.url),
    { runtime, detection, recognition, orientation, characters, threads } satisfies OcrThreadSpec,
    spec.max_memory_bytes,
  ).catch((error: unknown) => {
    if (!(error instanceof RefusedByRuntime)) throw error;
    throw fail('ModelFormatError', `${spec.model_name} cannot be used: ${error.message}`);
  });
  const ocr = new Ocr(spec, thread, artifactPath);
  return {
    info: { model: spec.model_name },
    // The host has checked the arguments against the schemas of the deployment's methods.
    methods: {
      recognize: async ({ image }, call) => ({ lines: await ocr.lines(image as ImageReference, call) }),
      recognize_batch: (args, call) => ocr.batch(args['images'] as readonly ImageReference[], call),
    },
    steps: () => thread.runs,
    activity: () => ({ busy: thread.isBusy, beats: thread.runs }),
    reconfigure: async (next) => ocr.reconfigure(next as unknown as OcrSpec),
    close: () => thread.close(),
  };
}

class Ocr {
  readonly #name: string;
  readonly #thread: OcrThread;
  readonly #artifactPath: StartContext['artifactPath'];
  #settings: OcrSettings;

  constructor(spec: OcrSpec, thread: OcrThread, artifactPath: StartContext['artifactPath']) {
    this.#name = spec.model_name;
    this.#thread = thread;
    this.#artifactPath = artifactPath;
    this.#settings = spec.settings;
  }

  reconfigure({ settings }: OcrSpec): void {
    this.#settings = settings;
  }

  async lines({ width, height, pixels }: ImageReference, { signal }: CallContext): Promise<TextLine[]> {
    const data = await readFile(await this.#artifactPath(pixels));
    const { min_confidence: minConfidence, box_threshold: boxThreshold, unclip_ratio: unclipRatio } = this.#settings;
    const question = { width, height, data, minConfidence, boxThreshold, unclipRatio };
    const { lines } = await this.#thread.run(question, signal).catch(runFailed(this.#name, 'read the image'));
    return lines.map(({ text, confidence, box, isUpsideDown }) => ({
      text,
      confidence,
      box,
      upside_down: isUpsideDown,
    }));
  }

  async batch(images: readonly ImageReference[], call: CallContext): Promise<{ images: { lines: TextLine[] }[] }> {
    const read: { lines: TextLine[] }[] = [];
    for (const [n, image] of images.entries()) {
      read.push({ lines: await this.lines(image, call) });
      call.progress?.((n + 1) / images.length);
    }
    return { images: read };
  }
}
