import * as z from 'zod';
import { configClass } from '../../class/config-class.ts';
import { defineDeployment } from '../../class/define-deployment.ts';
import { method } from '../../class/method.ts';
import { modelName } from '../model-name.ts';
import { pullOnnxModel } from './onnx-files.ts';
import { onnxMemory, onnxReplica, onnxReplicaSpec, requireRuntime } from './onnx-replica.ts';

const schema = z.strictObject({
  model_id: z.string().min(1).describe('`owner/repo/file.onnx` of the hub, or the path of an ONNX file.'),
  onnxruntime_path: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Folder of an npm package `onnxruntime-node` that you have installed with its provider for CUDA. Replicas with ' +
        'a GPU (`ray_actor_options.num_gpus`) need it. Default: the package of the catalogue, which computes on ' +
        'processors.',
    ),
  ...onnxReplica,
});

/** Configuration of a deployment that computes an ONNX model. */
export class OnnxConfig extends configClass(schema) {}

/** Calls of a replica: one is computed, and the next one is there when it ends. */
const CALLS = 2;
const MAX_NAMES = 10_000;

const shape = z.array(z.int().min(0)).describe('Length of each axis.');
const type = z.string().describe('Type of the values, such as `float32` or `int64`.');
const Declared = z.strictObject({
  name: z.string(),
  type,
  shape: z
    .array(z.union([z.int(), z.string()]))
    .describe('Length of each axis, or the name of an axis of any length. Empty for one value.'),
});
const Tensor = z.strictObject({
  type,
  shape,
  data: z
    .array(z.union([z.number(), z.boolean(), z.string()]))
    .optional()
    .describe(
      'The values, row by row. `"NaN"`, `"Infinity"`, `"-Infinity"` and whole numbers beyond 2^53 - 1 are texts.',
    ),
  base64: z.string().optional().describe('The bytes of the values, row by row and little-endian.'),
});

/** Computes any ONNX model. */
export const OnnxDeployment = defineDeployment({
  name: 'OnnxDeployment',
  configSchema: schema,
  maxOngoingRequests: () => CALLS,
  methods: {
    run: method({
      description: 'Computes the outputs of the model.',
      input: z.strictObject({
        inputs: z
          .record(z.string(), z.unknown())
          .describe(
            'A tensor for each input that the model declares: a value or nested lists, ' +
              '`{ "shape": […], "data": […] }` with the values row by row, or `{ "shape": […], "base64": "…" }` ' +
              'with their bytes, little-endian.',
          ),
        outputs: z.array(z.string()).min(1).max(MAX_NAMES).nullish().describe('The wanted outputs. Default: all.'),
        encoding: z
          .enum(['list', 'base64'])
          .default('list')
          .describe('How the outputs have their values. Texts always are lists, and 16-bit floats base64.'),
      }),
      output: z.strictObject({ outputs: z.record(z.string(), Tensor) }),
    }),
    describe: method({
      description: 'Returns the inputs and outputs that the model declares.',
      input: z.strictObject({}),
      output: z.strictObject({ inputs: z.array(Declared), outputs: z.array(Declared) }),
    }),
  },
  threads: ({ threads }) => threads,
  async prepare(config, context) {
    await requireRuntime('OnnxDeployment', config, context);
    const model = await pullOnnxModel(config.model_id, context);
    return {
      model_path: model.path,
      model_name: modelName(config.model_id),
      provider: context.numGpus > 0 ? 'cuda' : 'cpu',
      ...(await onnxReplicaSpec('OnnxDeployment', config, { model: model.bytes }, context)),
    };
  },
  memory: onnxMemory,
  implementation: new URL('../../../engines/onnx/onnx.js', import.meta.url),
});
