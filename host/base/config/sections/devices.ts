import * as z from 'zod';

export const DevicesConfig = z.strictObject({
  gpus: z
    .array(
      z.strictObject({
        id: z
          .string()
          .min(1)
          .optional()
          .describe('The GPU’s value in CUDA_VISIBLE_DEVICES. Default: its index in the list.'),
        name: z.string().min(1).optional(),
        memory_bytes: z.int().min(0),
      }),
    )
    .nullable()
    .default(null)
    .describe(
      'GPUs to use instead of those that the host detects, each `{"memory_bytes": …}` with an optional `id` and ' +
        '`name`. An empty list means no GPU.',
    ),
  memory_bytes: z
    .int()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      'Main memory that models may use, in bytes. Default: the memory of the machine or its container, less what ' +
        'other programs use.',
    ),
  cpus: z
    .number()
    .min(1)
    .nullable()
    .default(null)
    .describe('Processors that models may keep busy. Default: all processors of the machine or its container.'),
  placement: z
    .enum(['spread', 'pack'])
    .default('spread')
    .describe(
      'Placement of replicas that use a share of a GPU: `spread` chooses the emptiest GPU; `pack` chooses the ' +
        'fullest GPU with room, which leaves whole GPUs free.',
    ),
});
