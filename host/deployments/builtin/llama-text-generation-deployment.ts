import * as z from 'zod';
import { AanaError } from '../../core/errors.ts';
import { SamplingParams } from '../../schemas/index.ts';
import { configClass } from '../class/config-class.ts';
import { defineDeployment } from '../class/define-deployment.ts';
import { countTokensMethod } from './count-tokens-method.ts';
import { llamaMemory } from './memory-need.ts';
import { pullModel } from './pull-model.ts';
import { promptBeginning, textGenerationMethods } from '../class/text-generation-methods.ts';

const ModelKwargs = z.strictObject({
  n_ctx: z
    .int()
    .min(0)
    .max(16_777_216)
    .default(8192)
    .describe(
      'Tokens that one dialog can hold, including the answer; 0 is the length that the model was trained with.',
    ),
  n_seq_max: z.int().min(1).max(64).default(4).describe('Answers that are generated at the same time.'),
  n_threads: z
    .int()
    .min(1)
    .max(256)
    .optional()
    .describe(
      'CPU threads of a replica. It is reduced when all deployments together ask for more threads than there are processors. Default: an equal part of the processors that deployments with a set number leave, at most half of the processors and at most 8.',
    ),
  n_gpu_layers: z.int().min(-1).default(-1).describe('Layers on the GPU if `num_gpus` is not 0; -1 is all.'),
  split_mode: z
    .enum(['none', 'layer', 'row', 'tensor'])
    .default('layer')
    .describe(
      'Unit that is divided among the GPUs of a replica: nothing, layers, the rows of matrices, or every tensor.',
    ),
  main_gpu: z
    .int()
    .min(0)
    .max(1023)
    .default(0)
    .describe("Index of the replica's GPU that holds the whole model with `split_mode` none."),
  tensor_split: z
    .array(z.number().min(0))
    .min(1)
    .max(64)
    .optional()
    .describe(
      "Part of the model on each of a replica's GPUs, as a ratio: [3, 1] puts three quarters on the first. Default: equal parts.",
    ),
  reader_timeout_s: z
    .number()
    .positive()
    .max(86_400)
    .default(60)
    .describe('Seconds after which an answer is cancelled if nobody reads it.'),
  n_prefill: z
    .int()
    .min(1)
    .max(8192)
    .default(256)
    .describe(
      'Prompt tokens that are read in one step. A low number keeps long prompts from delaying running answers.',
    ),
  kv_type: z
    .enum(['f16', 'q8_0'])
    .default('f16')
    .describe('Type of the numbers in the context memory; q8_0 needs about half the memory.'),
  chat_template: z.string().min(1).optional().describe("Jinja template that replaces the model's template."),
});

const schema = z.strictObject({
  model_id: z
    .string()
    .min(1)
    .default('qwen2.5-coder-0.5b-instruct')
    .describe('A catalogue id, `owner/repo` or `owner/repo/file.gguf` of the hub, or the path of a GGUF file.'),
  model_kwargs: ModelKwargs.prefault({}).describe('Parameters for loading the model.'),
  default_sampling_params: z
    .prefault(SamplingParams, {})
    .describe('Sampling parameters that a request does not set. Default: greedy, at most 256 tokens.'),
});

/** Configuration of a llama.cpp deployment. */
export class LlamaTextGenerationConfig extends configClass(schema) {}

/**
 * Returns the part of each GPU; undefined for one GPU or none. Throws `ValidationError` when the configuration is for
 * another number of GPUs.
 */
function splitOf(
  { tensor_split: parts, main_gpu: main, split_mode: mode }: z.infer<typeof ModelKwargs>,
  numGpus: number,
): readonly number[] | undefined {
  const refuse = (key: string, why: string): never => {
    throw new AanaError('ValidationError', 'invalid-input', `user_config: model_kwargs.${key}: ${why}`);
  };
  const count = Math.max(1, Math.floor(numGpus));
  if (parts && (parts.length !== count || parts.every((part) => part === 0)))
    refuse('tensor_split', `must have a part for each of the ${count} GPUs of num_gpus, one of them above 0`);
  if (mode === 'none' && main >= count) refuse('main_gpu', `must be below the number of GPUs, which is ${count}`);
  return numGpus > 1 ? (parts ?? Array.from({ length: count }, () => 1)) : undefined;
}

/** Returns parts that put everything on one GPU. */
const onlyAt = (index: number): number[] => [...Array.from({ length: index }, () => 0), 1];

/** Text generation with llama.cpp. */
export const LlamaTextGenerationDeployment = defineDeployment({
  name: 'LlamaTextGenerationDeployment',
  configSchema: schema,
  // Two more than the engine runs at the same time, so that it never waits for the host. Further calls wait in the
  // host, which knows their turn and their deadline.
  maxOngoingRequests: ({ model_kwargs: { n_seq_max: sequences } }) => sequences + 2,
  methods: {
    ...textGenerationMethods,
    count_tokens: countTokensMethod,
  },
  threads: ({ model_kwargs: { n_threads: threads } }) => threads,
  async prepare(config, context) {
    const { model_id: id, model_kwargs: kwargs } = config;
    const split = splitOf(kwargs, context.numGpus);
    const modelPath = await pullModel(id, context);
    return {
      model_path: modelPath,
      model_name: id,
      n_ctx: kwargs.n_ctx,
      n_seq_max: kwargs.n_seq_max,
      n_threads: Math.min(kwargs.n_threads ?? Infinity, await context.cpus()),
      n_gpu_layers: context.numGpus > 0 ? kwargs.n_gpu_layers : 0,
      split_mode: kwargs.split_mode,
      main_gpu: kwargs.main_gpu,
      tensor_split: split,
      reader_timeout_s: kwargs.reader_timeout_s,
      n_prefill: kwargs.n_prefill,
      kv_type: kwargs.kv_type,
      chat_template: kwargs.chat_template,
      default_sampling_params: config.default_sampling_params,
    };
  },
  memory: (spec, { gpu }) =>
    llamaMemory(String(spec['model_path']), {
      contextTokens: Number(spec['n_ctx']),
      sequences: Number(spec['n_seq_max']),
      kvType: spec['kv_type'] === 'q8_0' ? 'q8_0' : 'f16',
      gpuLayers: gpu ? Number(spec['n_gpu_layers']) : -1,
      parts:
        spec['split_mode'] === 'none'
          ? onlyAt(Number(spec['main_gpu']))
          : (spec['tensor_split'] as readonly number[] | undefined),
    }),
  reconfigurable: ['default_sampling_params'],
  affinity: promptBeginning,
  implementation: new URL('../../engines/llama.js', import.meta.url),
});
