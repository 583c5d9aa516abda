import * as z from 'zod';
import { toggle, whole } from '../../../base/core/fields.ts';
import { fail } from '../../../base/core/errors.ts';
import type { PrepareContext, ReplicaSpec } from '../class/deployment-definition.ts';

/** Keys of `model_kwargs` for the processors of a model that llama.cpp runs. */
export const llamaPlacement = {
  n_threads: z
    .int()
    .min(1)
    .max(256)
    .optional()
    .describe(
      'CPU threads of a replica. It is reduced when all deployments together ask for more threads than there are ' +
        'processors. Default: an equal part of the cores that deployments with a set number leave, at most 8. Two ' +
        'hardware threads of a core count once.',
    ),
  n_gpu_layers: z
    .union([z.int().min(-1), z.literal('auto')])
    .default(-1)
    .describe(
      'Layers on the GPU if `num_gpus` is not 0; -1 is all. With `auto` llama.cpp measures how many fit beside the ' +
        'context when a replica starts, and leaves 1 GiB.',
    ),
  flash_attn: z
    .enum(['auto', 'on', 'off'])
    .default('auto')
    .describe('Whether attention is computed in blocks (flash attention). `auto`: where the processors can.'),
  use_mmap: toggle(
    true,
    'Whether the weights stay in the file, which is mapped and shared by replicas. Otherwise each reads a copy.',
  ),
  use_mlock: toggle(
    false,
    'Whether the weights are locked in memory, so that they are never swapped. The limit of the process (`ulimit ' +
      '-l`) must allow it.',
  ),
  split_mode: z
    .enum(['none', 'layer', 'row', 'tensor'])
    .default('layer')
    .describe(
      'Unit that is divided among the GPUs of a replica: nothing, layers, the rows of matrices, or every tensor.',
    ),
  main_gpu: whole(
    { min: 0, max: 1023, default: 0 },
    "Index of the replica's GPU that holds the whole model with `split_mode` none.",
  ),
  tensor_split: z
    .array(z.number().min(0))
    .min(1)
    .max(64)
    .optional()
    .describe(
      "Part of the model on each of a replica's GPUs, as a ratio: [3, 1] puts three quarters on the first. Default: " +
        'equal parts.',
    ),
};

type LlamaPlacement = z.output<z.ZodObject<typeof llamaPlacement>>;

/**
 * Returns the part of each GPU; undefined for one GPU or none. Throws `ValidationError` when the configuration is for
 * another number of GPUs.
 */
function splitOf(
  { tensor_split: parts, main_gpu: main, split_mode: mode, n_gpu_layers: layers, flash_attn: flash }: LlamaPlacement,
  numGpus: number,
): readonly number[] | undefined {
  const refuse = (key: string, why: string): never => {
    throw fail('ValidationError', `user_config: model_kwargs.${key}: ${why}`);
  };
  const count = Math.max(1, Math.floor(numGpus));
  if (mode === 'tensor' && flash === 'off') refuse('flash_attn', 'cannot be off with split_mode tensor');
  if (layers === 'auto' && (mode === 'row' || mode === 'tensor'))
    refuse('n_gpu_layers', 'cannot be auto with this split_mode; llama.cpp measures only for none and layer');
  if (layers === 'auto' && parts)
    refuse('tensor_split', 'cannot be set with n_gpu_layers auto, which chooses the parts');
  if (parts && (parts.length !== count || parts.every((part) => part === 0)))
    refuse('tensor_split', `must have a part for each of the ${count} GPUs of num_gpus, one of them above 0`);
  if (mode === 'none' && main >= count) refuse('main_gpu', `must be below the number of GPUs, which is ${count}`);
  if (layers === 'auto') return undefined;
  return numGpus > 1 ? (parts ?? Array.from({ length: count }, () => 1)) : undefined;
}

/** Returns parts that put everything on one GPU. */
const onlyAt = (index: number): number[] => [...Array.from({ length: index }, () => 0), 1];

/** Throws `ValidationError` when the configuration is for another number of GPUs. */
export function checkPlacement(placement: LlamaPlacement, numGpus: number): void {
  splitOf(placement, numGpus);
}

/** Returns the placement for a replica's spec. Call it after the models are fetched. */
export async function placementSpec(
  placement: LlamaPlacement,
  context: Pick<PrepareContext, 'cpus' | 'numGpus'>,
): Promise<ReplicaSpec> {
  return {
    n_threads: Math.min(placement.n_threads ?? Infinity, await context.cpus()),
    n_gpu_layers: context.numGpus > 0 ? placement.n_gpu_layers : 0,
    split_mode: placement.split_mode,
    main_gpu: placement.main_gpu,
    tensor_split: splitOf(placement, context.numGpus),
    flash_attn: placement.flash_attn,
    use_mmap: placement.use_mmap,
    use_mlock: placement.use_mlock,
  };
}

/** Returns the part of the placement in a replica's spec that its memory depends on. */
export function placementOf(
  spec: ReplicaSpec,
  gpu: boolean,
): { readonly gpuLayers: number; readonly parts: readonly number[] | undefined } {
  const layers = spec['n_gpu_layers'] === 'auto' ? 0 : Number(spec['n_gpu_layers']);
  return {
    // With auto the engine takes what is free when it loads, so nothing is reserved.
    gpuLayers: gpu ? layers : -1,
    parts:
      spec['split_mode'] === 'none'
        ? onlyAt(Number(spec['main_gpu']))
        : (spec['tensor_split'] as readonly number[] | undefined),
  };
}
