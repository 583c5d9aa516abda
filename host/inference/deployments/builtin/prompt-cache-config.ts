import { resolve } from 'node:path';
import * as z from 'zod';
import { whole } from '../../../base/core/fields.ts';
import { totalMainBytes } from '../../../base/core/machine/total-memory.ts';
import type { ReplicaSpec } from '../class/deployment-definition.ts';
import type { MemoryNeed } from './memory-need.ts';

/** Where a language model keeps what it computed for prompts. */
export const PromptCacheConfig = z.strictObject({
  path: z
    .string()
    .min(1)
    .describe(
      'Folder of the files, which is made if it does not exist. Replicas and deployments can share one. The files ' +
        'contain the tokens of prompts and answers.',
    ),
  max_bytes: whole(
    { min: 1_048_576, max: Number.MAX_SAFE_INTEGER, default: 4_294_967_296 },
    'Most bytes of all files together. The files that were used the longest ago are deleted.',
  ),
  min_tokens: whole(
    { min: 16, max: 16_777_216, default: 256 },
    'A text is kept, in blocks of 64 tokens, if it has this many that no file has. Files are read if they spare as ' +
      'many.',
  ),
});

/** Main memory of a language model for what it computed for texts that lost their place in its context. */
export const PrefixMemory = z
  .union([z.int().min(0).max(Number.MAX_SAFE_INTEGER), z.literal('auto')])
  .default('auto')
  .describe(
    'Most bytes of main memory in which a replica keeps what it computed for dialogs that lost their place, so that ' +
      'more than `n_seq_max` dialogs go on without computing their beginning again. 0: none. `auto`: twice the ' +
      'context, at most a sixteenth of the memory of the machine and what the model leaves of half of it.',
  );

/** Returns the bytes of the setting. A model that fills half of a machine's memory gets none with `auto`. */
export async function prefixBytes(
  setting: z.output<typeof PrefixMemory>,
  memory: () => Promise<MemoryNeed>,
  machineBytes = totalMainBytes(),
): Promise<number> {
  if (setting !== 'auto') return setting;
  // A file that is missing fails when a replica loads it.
  const { weightsBytes = 0, contextBytes = 0 } = (await memory().catch(() => undefined)) ?? {};
  const left = machineBytes / 2 - weightsBytes - contextBytes;
  return Math.max(0, Math.floor(Math.min(2 * contextBytes, machineBytes / 16, left)));
}

/** Returns the part of a replica's spec for prompts on disk. */
export const promptCacheSpec = (config: z.output<typeof PromptCacheConfig> | undefined): ReplicaSpec =>
  config ? { prompt_cache: { ...config, path: resolve(config.path) } } : {};
