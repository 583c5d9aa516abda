import * as z from 'zod';
import { amount, toggle, whole } from '../../../base/core/fields.ts';
import { configClass } from '../class/config-class.ts';
import type { ReplicaSpec } from '../class/deployment-definition.ts';
import { defineDeployment } from '../class/define-deployment.ts';
import { contextLength, contextLengthSpec, type ContextLengthSpec } from './context-length.ts';
import { checkPlacement, llamaPlacement, placementOf, placementSpec } from './llama-placement.ts';
import {
  KV_TYPES,
  type KvTypeName,
  llamaMemory,
  type LlamaMemorySettings,
  projectorMemory,
  sumOfNeeds,
} from './memory-need.ts';
import { readGgufHeader } from './gguf-header.ts';
import { insteadOf } from './instead-of.ts';
import { prefixBytes, PrefixMemory, PromptCacheConfig, promptCacheSpec } from './prompt-cache-config.ts';
import { modelName } from './model-name.ts';
import { pullModel, pullProjector, pullWeights } from './pull-model.ts';
import { QuantizationConfig } from './quantization-config.ts';
import { speculationSpec, SpeculativeConfig } from './speculative-config.ts';
import { countTokensMethod, tokenMethods } from './token-methods.ts';
import {
  DefaultSamplingParams,
  imageTextHandle,
  promptBeginning,
  textGenerationMethods,
  tokenPromptMethods,
} from '../class/text-generation-methods.ts';

const KvType = z.enum(KV_TYPES);

const ModelKwargs = z
  .strictObject({
    ...contextLength,
    n_seq_max: whole(
      { min: 1, max: 256, default: 4 },
      'Answers that are generated at the same time. Each has a context memory of `n_ctx` tokens, unless ' +
        '`n_ctx_total` is set.',
    ),
    speculative_config: SpeculativeConfig.optional().describe(
      'Guesses tokens and computes them together with the next one. The answers stay the same. Default: off.',
    ),
    n_ctx_total: whole(
      { min: 0, max: 1_073_741_824, default: 0 },
      'Tokens that all dialogs of a replica can hold together, at least `n_ctx`. The dialogs then share one ' +
        'context memory, and equal beginnings are kept once. When it is full, the youngest dialog is interrupted ' +
        'and computed again later. 0: each dialog has a memory of `n_ctx` tokens.',
    ),
    cache_scope: z
      .enum(['shared', 'tenant'])
      .default('tenant')
      .describe(
        'Who reuses the computed beginning of a prompt: only the user who sent it (without API keys: the address), ' +
          'or with `shared` all users. Then the time of an answer tells a user who guesses how the prompts of ' +
          'others begin.',
      ),
    prompt_cache: PromptCacheConfig.optional().describe(
      'Keeps what was computed for prompts on disk, so that a long beginning needs no computing after a restart. ' +
        'Default: only in memory.',
    ),
    prefix_memory_bytes: PrefixMemory,
    ...llamaPlacement,
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
      .optional()
      .describe(
        'Prompt tokens that are read in one step. A low number keeps long prompts from delaying running answers. ' +
          'Default: 256, and `n_ubatch` with `num_gpus`.',
      ),
    n_ubatch: whole(
      { min: 32, max: 8192, default: 512 },
      'Tokens that are computed at the same time. A large GPU may read long prompts faster with more, which need ' +
        'more memory for intermediate results.',
    ),
    swa_full: toggle(
      true,
      'Whether layers with a sliding window keep all tokens of a dialog, as the other layers do. With `false` they ' +
        'keep little more than their window, so models such as Gemma 3 need much less memory for long dialogs. ' +
        'Then a dialog that goes on is still reused, but not the beginning of one that parts from it further back, ' +
        'and no answer can have the `overflow` `shift`. Not with `n_ctx_total`. Of no effect on other models.',
    ),
    kv_type: KvType.default('f16').describe(
      'Type of the numbers in the context memory; q8_0 needs about half the memory, q4_0 a bit more than a quarter.',
    ),
    type_k: KvType.optional().describe('Type of the keys in the context memory. Default: `kv_type`.'),
    type_v: KvType.optional().describe(
      'Type of the values in the context memory. Default: `kv_type`. A type with a q needs flash attention.',
    ),
    quantization_config: QuantizationConfig.optional().describe(
      'Type of the weights, if the file should not be used as it is. A model with other weights is written once on ' +
        'this machine and kept in the cache.',
    ),
    trust_remote_code: z.boolean().optional().describe('Has no effect: a GGUF file contains no code.'),
    ...insteadOf({
      torch_dtype: 'write quantization_config.weight_type, for example "f16"',
      dtype: 'write quantization_config.weight_type, for example "f16"',
      device_map: 'write ray_actor_options.num_gpus and n_gpu_layers',
      attn_implementation: 'llama.cpp chooses how it computes',
      low_cpu_mem_usage: 'the weights are mapped from the file and need no copy',
      max_model_len: 'write n_ctx',
      max_num_seqs: 'write n_seq_max',
      max_num_batched_tokens: 'write n_prefill',
      n_batch: 'write n_prefill',
      tensor_parallel_size: 'write ray_actor_options.num_gpus and split_mode',
    }),
    mmproj: z
      .string()
      .min(1)
      .optional()
      .describe(
        'Projector of the model, with which dialogs can have images, audio or both, as it has encoders: `auto` for ' +
          'the one in the same repository or folder, a path, `owner/repo/file.gguf` of the hub, or the id of an ' +
          'imported file. Default: images and audio are refused.',
      ),
    chat_template: z.string().min(1).optional().describe("Jinja template that replaces the model's template."),
  })
  .refine(({ flash_attn: flash, kv_type: type, type_v: values = type }) => flash !== 'off' || !values.startsWith('q'), {
    path: ['flash_attn'],
    message: 'cannot be off where the values of the context memory (type_v or kv_type) have a type with a q',
  })
  .refine(({ swa_full: full, n_ctx_total: total }) => full || total === 0, {
    path: ['swa_full'],
    message:
      'cannot be false with n_ctx_total, because dialogs that share one memory would lose their places again and again',
  });

const Adapter = z.strictObject({
  model_id: z
    .string()
    .min(1)
    .describe(
      'Path of the GGUF file of the adapter, `owner/repo/file.gguf` of the hub, or the id of an imported file.',
    ),
  scale: amount(
    { min: -100, max: 100, default: 1 },
    'How strongly the adapter changes the model; 1 as it was trained.',
  ),
});

const schema = z.strictObject({
  model_id: z
    .string()
    .min(1)
    .default('qwen2.5-coder-0.5b-instruct')
    .describe('A catalogue id, `owner/repo` or `owner/repo/file.gguf` of the hub, or the path of a GGUF file.'),
  model_kwargs: ModelKwargs.prefault({}).describe('Parameters for loading the model.'),
  default_sampling_params: z
    .prefault(DefaultSamplingParams, {})
    .describe('Sampling parameters that a request does not set. Default: greedy, at most 256 tokens.'),
  adapters: z
    .record(z.string().min(1).max(200), Adapter)
    .default({})
    .describe('LoRA adapters for the model, by the names that requests give. All are loaded with the model.'),
});

/** The engine computes as many tokens together where it reads images. */
const IMAGE_PASS_TOKENS = 2048;

const memorySettings = (spec: ReplicaSpec): Omit<LlamaMemorySettings, 'gpuLayers'> => {
  const length = spec as unknown as ContextLengthSpec;
  return {
    contextTokens: length.n_ctx,
    ropeScaling: length.rope_scaling,
    sequences: Number(spec['n_seq_max']),
    totalTokens: Number(spec['n_ctx_total'] ?? 0),
    ...(spec['swa_full'] === false && {
      passTokens: Math.max(Number(spec['n_ubatch']), spec['mmproj_path'] === undefined ? 0 : IMAGE_PASS_TOKENS),
    }),
    keyType: spec['type_k'] as KvTypeName,
    valueType: spec['type_v'] as KvTypeName,
  };
};

async function hasAudioEncoder(projectorPath: string): Promise<boolean> {
  return (await readGgufHeader(projectorPath))?.get('clip.has_audio_encoder') === 1;
}

/** Configuration of a llama.cpp deployment. */
export class LlamaTextGenerationConfig extends configClass(schema) {}

/** Text generation with llama.cpp. */
export const LlamaTextGenerationDeployment = defineDeployment({
  name: 'LlamaTextGenerationDeployment',
  configSchema: schema,
  // Two more than the engine runs at the same time, so that it never waits for the host. Further calls wait in the
  // host, which knows their turn and their deadline.
  maxOngoingRequests: ({ model_kwargs: { n_seq_max: sequences } }) => sequences + 2,
  pausesForOthers: true,
  methods: {
    ...textGenerationMethods,
    ...tokenPromptMethods,
    count_tokens: countTokensMethod,
    ...tokenMethods,
  },
  optionalHandles: imageTextHandle,
  takesImages: ({ model_kwargs: { mmproj } }) => mmproj !== undefined,
  takesAudio: ({ hears_audio: hears }) => hears === true,
  threads: ({ model_kwargs: { n_threads: threads } }) => threads,
  async prepare(config, context) {
    const { model_id: id, model_kwargs: kwargs } = config;
    checkPlacement(kwargs, context.numGpus);
    const images = kwargs.mmproj === undefined ? undefined : context.buildImages?.(); // while the models are fetched
    images?.catch(() => {});
    const adapters = [];
    for (const [name, { model_id: file, scale }] of Object.entries(config.adapters))
      adapters.push({ name, path: await pullModel(file, context), scale });
    const weights = await pullWeights(id, kwargs.quantization_config ?? {}, context);
    const { model_path: modelPath } = weights;
    const projectorPath = await pullProjector(kwargs.mmproj, id, context);
    await images;
    const spec = {
      ...weights,
      model_name: modelName(id),
      ...(await contextLengthSpec(modelPath, kwargs)),
      n_seq_max: kwargs.n_seq_max,
      n_ctx_total: kwargs.n_ctx_total,
      ...(await speculationSpec(kwargs.speculative_config, context)),
      cache_scope: kwargs.cache_scope,
      ...promptCacheSpec(kwargs.prompt_cache),
      ...(await placementSpec(kwargs, context)),
      reader_timeout_s: kwargs.reader_timeout_s,
      // A GPU computes many tokens in about the time of few, so its steps fill a pass. A processor does not.
      n_prefill: kwargs.n_prefill ?? (context.numGpus > 0 ? kwargs.n_ubatch : 256),
      n_ubatch: kwargs.n_ubatch,
      swa_full: kwargs.swa_full,
      type_k: kwargs.type_k ?? kwargs.kv_type,
      type_v: kwargs.type_v ?? kwargs.kv_type,
      ...(projectorPath !== undefined && {
        mmproj_path: projectorPath,
        hears_audio: await hasAudioEncoder(projectorPath),
      }),
      chat_template: kwargs.chat_template,
      default_sampling_params: config.default_sampling_params,
      ...(adapters.length > 0 && { adapters }),
    };
    return {
      ...spec,
      prefix_memory_bytes: await prefixBytes(kwargs.prefix_memory_bytes, () =>
        llamaMemory(modelPath, { ...memorySettings(spec), gpuLayers: -1 }),
      ),
    };
  },
  async memory(spec, { gpu }) {
    const settings: LlamaMemorySettings = { ...memorySettings(spec), ...placementOf(spec, gpu) };
    const adapters = (spec['adapters'] ?? []) as readonly { readonly path: string }[];
    const need = await llamaMemory(String(spec['model_path']), {
      ...settings,
      adapters: adapters.map(({ path }) => path),
    });
    const projector = spec['mmproj_path'];
    // It lies in main memory, also where the model is on a GPU.
    const withPrefixes = gpu
      ? need
      : { ...need, contextBytes: need.contextBytes + Number(spec['prefix_memory_bytes'] ?? 0) };
    const both =
      projector === undefined ? withPrefixes : sumOfNeeds(withPrefixes, await projectorMemory(String(projector)));
    const draft = spec['draft_model_path'];
    if (draft === undefined) return both;
    // The engine puts all layers of a draft model on the GPU, or none, and all of its layers keep all tokens.
    const ofDraft = {
      ...settings,
      ropeScaling: undefined,
      passTokens: undefined,
      gpuLayers: settings.gpuLayers && -1,
    };
    return sumOfNeeds(both, await llamaMemory(String(draft), ofDraft));
  },
  reconfigurable: ['default_sampling_params'],
  affinity: promptBeginning,
  implementation: new URL('../../engines/llama.js', import.meta.url),
});
