import * as z from 'zod';

const seconds = z.number().positive().max(86_400);

const AutoscalingConfig = z
  .strictObject({
    min_replicas: z
      .int()
      .min(0)
      .max(64)
      .default(1)
      .describe('Replicas that run at least; 0 lets the deployment sleep until its next call.'),
    max_replicas: z.int().min(1).max(64).default(1).describe('Replicas that run at most.'),
    target_ongoing_requests: z
      .number()
      .positive()
      .max(1000)
      .default(2)
      .describe('Calls, running and waiting, that each replica should have.'),
    upscale_delay_s: z
      .number()
      .min(0)
      .max(86_400)
      .default(30)
      .describe('Seconds that more must be wanted before replicas are added; from 0 the first call adds one at once.'),
    downscale_delay_s: z
      .number()
      .min(0)
      .max(86_400)
      .default(600)
      .describe('Seconds that less must be wanted before replicas are taken away.'),
  })
  .refine(({ min_replicas: min, max_replicas: max }) => min <= max, {
    path: ['max_replicas'],
    message: 'must not be less than min_replicas',
  });

/** GPUs of a replica: below one in ten-thousandths. */
const GPUS = z
  .number()
  .min(0)
  .max(1024)
  .refine(
    (gpus) => (gpus < 1 ? Math.abs(gpus * 10_000 - Math.round(gpus * 10_000)) < 1e-6 : Number.isInteger(gpus)),
    'must be a whole number, or below 1 with up to four decimals',
  );

/**
 * One entry of `deployments` in the configuration file. Keys are those of the options that deployments have always had.
 */
export const DeploymentOptions = z
  .strictObject({
    type: z.string().min(1).describe('Kind of deployment: `WhisperDeployment` or `LlamaTextGenerationDeployment`.'),
    num_replicas: z
      .int()
      .min(1)
      .max(64)
      .optional()
      .describe('Processes that each hold a copy of the model. Default: 1.'),
    max_ongoing_requests: z
      .int()
      .min(1)
      .max(1000)
      .optional()
      .describe(
        'Calls that one replica works on at the same time. Default: 8 for Whisper, two more than `n_seq_max` for text generation, 5 for a class of your own.',
      ),
    max_queued_requests: z
      .int()
      .min(0)
      .max(100_000)
      .default(100)
      .describe('Calls that wait for a replica; more are refused with status 503.'),
    user_config: z
      .record(z.string(), z.unknown())
      .default({})
      .describe('What the kind of deployment wants to know: its model, its defaults.'),
    health_check_period_s: seconds.default(10).describe('Seconds between health checks of a replica.'),
    health_check_timeout_s: seconds
      .default(30)
      .describe(
        'Seconds without an answer, or without any progress of an engine that has work, after which a replica is killed and replaced.',
      ),
    start_timeout_s: seconds
      .default(300)
      .describe(
        'Seconds that a replica which starts may go without a sign of progress, warm-up included, before it is ended. The first start on a new kind of GPU may compile kernels for minutes. A changed configuration, which running replicas take, has as long.',
      ),
    graceful_shutdown_timeout_s: z
      .number()
      .min(0)
      .max(86_400)
      .default(20)
      .describe(
        'Seconds that running calls may take to finish when the deployment is stopped, or when a replica has to make room. What has not finished then begins again on another replica, if there is one.',
      ),
    drain_timeout_s: z
      .number()
      .min(0)
      .max(86_400)
      .default(3600)
      .describe(
        'Seconds that running calls may take to finish on a replica that is not wanted any more, after an update or with less load, as long as nobody needs its place.',
      ),
    ray_actor_options: z
      .strictObject({
        num_gpus: GPUS.optional().describe(
          'GPUs per replica, below 1 a share of one: who runs where follows from it, what a replica uses is not capped. A machine without a GPU runs it on the CPU. Default: 0, the CPU.',
        ),
        num_cpus: z
          .number()
          .min(0)
          .optional()
          .describe(
            'Processors that each replica keeps for itself, and its threads where `user_config` names none. Default: none; threads are as many as the replicas of all deployments together have processors for.',
          ),
        memory_bytes: z
          .int()
          .min(1)
          .optional()
          .describe('Memory that each replica sets aside on its GPUs, or of the machine where it runs on the CPU.'),
      })
      .default({})
      .describe('Devices of each replica.'),
    pinned: z
      .boolean()
      .default(false)
      .describe(
        'Whether its replicas stay when another deployment needs their place. Without it those over `min_replicas` go when nobody uses them.',
      ),
    autoscaling_config: AutoscalingConfig.optional().describe(
      'As many replicas as the calls need, in place of `num_replicas`.',
    ),
  })
  .superRefine((options, context) => {
    const refuse = (path: readonly string[], message: string): void =>
      context.addIssue({ code: 'custom', path: [...path], message, input: options });
    const { autoscaling_config: scaling } = options;
    if (scaling && options.num_replicas !== undefined)
      refuse(['num_replicas'], 'must not be given together with autoscaling_config');
    if (scaling?.min_replicas === 0 && options.max_queued_requests === 0)
      refuse(['max_queued_requests'], 'must be at least 1 when min_replicas is 0: the first call waits for a replica');
  });
export type DeploymentOptions = z.infer<typeof DeploymentOptions>;
/** As people write it: what has a default may be absent. */
export type DeploymentOptionsInput = z.input<typeof DeploymentOptions>;

/** Replicas that run from the start. */
export function firstReplicas({ num_replicas: count, autoscaling_config: scaling }: DeploymentOptions): number {
  return scaling ? scaling.min_replicas : (count ?? 1);
}
