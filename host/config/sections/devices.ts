import * as z from 'zod';

export const DevicesConfig = z.strictObject({
  gpus: z
    .array(
      z.strictObject({
        id: z
          .string()
          .min(1)
          .optional()
          .describe('What CUDA_VISIBLE_DEVICES takes for it. Default: its place in the list.'),
        name: z.string().min(1).optional(),
        memory_bytes: z.int().min(0),
      }),
    )
    .nullable()
    .default(null)
    .describe(
      'GPUs of this machine in place of those that are found, each `{"memory_bytes": …}` with `id` and `name` if need be. An empty list is none.',
    ),
  memory_bytes: z
    .int()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      'Main memory that models may take. Without it: what the machine, or its container, has, less what other programs use.',
    ),
  cpus: z
    .number()
    .min(1)
    .nullable()
    .default(null)
    .describe('Processors that models may keep busy. Without it: those of the machine, or of its container.'),
  placement: z
    .enum(['spread', 'pack'])
    .default('spread')
    .describe(
      'Where shares of GPUs go: `spread` to the emptiest GPU, `pack` to the fullest that has room, so that whole GPUs are left for others.',
    ),
});
