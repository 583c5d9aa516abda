import { resolve } from 'node:path';
import * as z from 'zod';
import { whole } from '../../../base/core/fields.ts';
import type { ReplicaSpec } from '../class/deployment-definition.ts';

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
    'A text is kept if it has this many tokens that no other file has. A file is read if it spares as many.',
  ),
});

/** Returns the part of a replica's spec for prompts on disk. */
export const promptCacheSpec = (config: z.output<typeof PromptCacheConfig> | undefined): ReplicaSpec =>
  config ? { prompt_cache: { ...config, path: resolve(config.path) } } : {};
