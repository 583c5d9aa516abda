import path from 'node:path';
import * as z from 'zod';
import { fail } from '../../../../base/core/errors.ts';
import { DamagedOnnx, readProperties } from '../../../../base/core/model-files/onnx.ts';
import { ImageReference, OcrBatchOutput, OcrOutput } from '../../../../base/schemas/index.ts';
import { configClass } from '../../class/config-class.ts';
import { defineDeployment } from '../../class/define-deployment.ts';
import { method } from '../../class/method.ts';
import { withHeader } from '../header-file.ts';
import { modelName } from '../model-name.ts';
import { pullOnnxModel } from './onnx-files.ts';
import { onnxMemory, onnxReplica, onnxReplicaSpec, requireProcessors } from './onnx-replica.ts';

const model = (what: string, id: string) =>
  z
    .string()
    .min(1)
    .default(id)
    .describe(`The network that ${what}: a name of the catalogue, a file of the hub, or a path.`);

const schema = z.strictObject({
  detection_model_id: model('finds texts', 'pp-ocrv4-detection'),
  recognition_model_id: model('reads a line', 'pp-ocrv4-recognition'),
  orientation_model_id: model('sees whether a line is upside down', 'pp-ocr-orientation')
    .nullable()
    .describe('The network that sees whether a line is upside down. null: all lines stand upright.'),
  min_confidence: z.number().min(0).max(1).default(0.5).describe('Lines that are less sure are left out.'),
  box_threshold: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe('Mean probability of a place in a box to be text. Boxes with a lower one are left out.'),
  unclip_ratio: z
    .number()
    .min(1)
    .max(4)
    .default(1.6)
    .describe('How far a box reaches beyond the inner part of a text, which the network finds.'),
  ...onnxReplica,
});

/** Configuration of a deployment that reads texts in images. */
export class OcrConfig extends configClass(schema) {}

/** Calls of a replica: one is computed, and the next one is there when it ends. */
const CALLS = 2;
/** Most images of a call. */
const MAX_IMAGES = 256;

/** Reads the texts in images with the networks of PaddleOCR. */
export const OcrDeployment = defineDeployment({
  name: 'OcrDeployment',
  configSchema: schema,
  maxOngoingRequests: () => CALLS,
  methods: {
    recognize: method({
      description: 'Finds and reads the texts of an image.',
      input: z.strictObject({ image: ImageReference }),
      output: OcrOutput,
    }),
    recognize_batch: method({
      description: 'Finds and reads the texts of several images.',
      input: z.strictObject({ images: z.array(ImageReference).min(1).max(MAX_IMAGES) }),
      output: OcrBatchOutput,
    }),
  },
  threads: ({ threads }) => threads,
  async prepare(config, context) {
    requireProcessors('OcrDeployment', context);
    const detection = await pullOnnxModel(config.detection_model_id, context);
    const recognition = await pullOnnxModel(config.recognition_model_id, context);
    const orientation =
      config.orientation_model_id === null ? undefined : await pullOnnxModel(config.orientation_model_id, context);
    const bytes = detection.bytes + recognition.bytes + (orientation?.bytes ?? 0);
    return {
      model_name: modelName(config.recognition_model_id),
      detection: detection.path,
      recognition: recognition.path,
      ...(orientation && { orientation: orientation.path }),
      characters: await charactersOf(recognition.path),
      settings: {
        min_confidence: config.min_confidence,
        box_threshold: config.box_threshold,
        unclip_ratio: config.unclip_ratio,
      },
      ...(await onnxReplicaSpec('OcrDeployment', config, { model: bytes }, context)),
    };
  },
  memory: onnxMemory,
  reconfigurable: ['min_confidence', 'box_threshold', 'unclip_ratio'],
  implementation: new URL('../../../engines/ocr/ocr.js', import.meta.url),
});

/**
 * Returns the characters of a network that reads lines, which its file has one to a line, and the space, which is the
 * last class. Throws `ModelFormatError`.
 */
async function charactersOf(file: string): Promise<string[]> {
  const properties = await withHeader(file, readProperties).catch((error: unknown) => {
    throw error instanceof DamagedOnnx ? fail('ModelFormatError', `${path.basename(file)}: ${error.message}`) : error;
  });
  const characters = properties.get('character');
  if (characters !== undefined) return [...characters.split('\n'), ' '];
  throw fail(
    'ModelFormatError',
    `${path.basename(file)}: it has no property "character" with the texts of its classes`,
    {
      data: { file },
    },
  );
}
