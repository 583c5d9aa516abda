import * as z from 'zod';
import { fail } from '../../../../base/core/errors.ts';
import { configClass } from '../../class/config-class.ts';
import { defineDeployment } from '../../class/define-deployment.ts';
import { method } from '../../class/method.ts';
import { modelName } from '../model-name.ts';
import { pullModel } from '../pull-model.ts';
import { onnxModelBytes } from './onnx-files.ts';
import { pullOnnxRuntime } from './pull-runtime.ts';

const schema = z.strictObject({
  model_id: z.string().min(1).describe('`owner/repo/file.onnx` of the hub, or the path of an ONNX file.'),
  threads: z.int().min(1).max(256).optional().describe('CPU threads. Default: the processors of a replica, at most 4.'),
  max_memory_bytes: z
    .int()
    .min(2 ** 28)
    .max(2 ** 46)
    .optional()
    .describe(
      'Memory of a replica. A replica that needs more ends, and its call is repeated once. Default: three times the ' +
        'files of the model, and 2 GiB.',
    ),
});

/** Configuration of a deployment that computes an ONNX model. */
export class OnnxConfig extends configClass(schema) {}

const USEFUL_THREADS = 4;
/** Memory of the runtime and of a small computation. */
const WORKING_BYTES = 200_000_000;
/** What the runtime makes of weights while it loads them. */
const COPIES = 3;
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
  async prepare({ model_id: id, threads, max_memory_bytes: maxMemoryBytes }, context) {
    if (context.numGpus > 0)
      throw fail('ValidationError', 'ray_actor_options: num_gpus: OnnxDeployment computes on processors only');
    const model_path = await pullModel(id, context);
    const bytes = await onnxModelBytes(model_path);
    return {
      model_path,
      model_name: modelName(id),
      runtime_path: await pullOnnxRuntime('OnnxDeployment', context),
      threads: Math.min(threads ?? USEFUL_THREADS, Math.max(1, await context.cpus())),
      bytes,
      max_memory_bytes: maxMemoryBytes ?? COPIES * bytes + 2 ** 31,
    };
  },
  memory: async (spec) => ({ weightsBytes: Number(spec['bytes']), contextBytes: WORKING_BYTES }),
  implementation: new URL('../../../engines/onnx/onnx.js', import.meta.url),
});
