import * as z from 'zod';
import { amount, toggle, whole } from '../../../base/core/fields.ts';
import { parseProcessorList } from '../../../base/core/machine/processor-list.ts';

const seconds = z.number().positive().max(86_400);

const AutoscalingConfig = z
  .strictObject({
    min_replicas: whole(
      { min: 0, max: 64, default: 1 },
      'Least number of replicas. With 0 the deployment sleeps until its next call.',
    ),
    max_replicas: whole({ min: 1, max: 64, default: 1 }, 'Greatest number of replicas.'),
    target_ongoing_requests: z
      .number()
      .positive()
      .max(1000)
      .default(2)
      .describe('Running and waiting calls per replica that the autoscaler aims for.'),
    upscale_delay_s: amount(
      { min: 0, max: 86_400, default: 30 },
      'Seconds of sustained load before replicas are added. The first call of a deployment with 0 replicas adds ' +
        'one at once.',
    ),
    downscale_delay_s: amount(
      { min: 0, max: 86_400, default: 600 },
      'Seconds of lower load before replicas are removed.',
    ),
  })
  .refine(({ min_replicas: min, max_replicas: max }) => min <= max, {
    path: ['max_replicas'],
    message: 'must not be less than min_replicas',
  });

/** GPUs of a replica: a whole number, or a share below 1 with up to four decimals. */
export const GPUS = z
  .number()
  .min(0)
  .max(1024)
  .refine(
    (gpus) => (gpus < 1 ? Math.abs(gpus * 10_000 - Math.round(gpus * 10_000)) < 1e-6 : Number.isInteger(gpus)),
    'must be a whole number, or below 1 with up to four decimals',
  );

/** One entry of `deployments` in the configuration file. Its keys have the names of the original SDK. */
export const DeploymentOptions = z
  .strictObject({
    type: z
      .string()
      .min(1)
      .describe(
        'Type of the deployment: `WhisperDeployment`, `LlamaTextGenerationDeployment`, ' +
          '`OpenAITextGenerationDeployment`, `LlamaEmbeddingDeployment`, `LlamaRerankDeployment`, ' +
          '`SpeakerDiarizationDeployment`, `VadDeployment`, `OcrDeployment`, `CaptionDeployment`, ' +
          '`OnnxDeployment` or `TransformersDeployment`.',
      ),
    num_replicas: z
      .int()
      .min(1)
      .max(64)
      .optional()
      .describe('Number of replicas. Each is a process with its own copy of the model. Default: 1.'),
    max_ongoing_requests: z
      .int()
      .min(1)
      .max(1000)
      .optional()
      .describe(
        'Calls that one replica works on at the same time. Default: 8 for Whisper, `n_seq_max` + 2 for text ' +
          'generation, 4 with Transformers.js, 16 by another server, 32 for embeddings and reranking, 4 for speaker ' +
          'diarization, 8 for voice activity detection, 64 for captions, 5 for a custom ' +
          'class.',
      ),
    max_queued_requests: whole(
      { min: 0, max: 100_000, default: 100 },
      'Most calls that wait for a replica; more are refused with status 503.',
    ),
    user_config: z
      .record(z.string(), z.unknown())
      .default({})
      .describe('Configuration of the deployment type, such as its model and defaults.'),
    handles: z
      .record(z.string(), z.string().min(1).max(200))
      .optional()
      .describe(
        'Names of the deployments that a custom class calls, by the keys of its `static handles`. Default: those of ' +
          'the class. `CaptionDeployment` has the key `vision`, whose default is `llm_deployment`. Text ' +
          'generation takes `ocr`, the deployment that reads the texts in images for a model that sees none, and ' +
          'refuses images without it.',
      ),
    health_check_period_s: seconds.default(10).describe('Seconds between health checks of a replica.'),
    health_check_timeout_s: seconds
      .default(30)
      .describe(
        'Seconds without an answer of a replica, or without progress of an engine that has work, after which the ' +
          'replica is killed and replaced. An engine that shares its processor with other programs has more: its ' +
          'share of the processor counts.',
      ),
    start_timeout_s: seconds
      .default(300)
      .describe(
        'Seconds without progress after which a starting replica is ended, including the warm-up. The first start ' +
          'on a new type of GPU may compile kernels for minutes. The same limit applies when running replicas take ' +
          'a changed configuration, for example when the `reconfigure` of a class does not return; an update that ' +
          'brings another limit is limited by it.',
      ),
    graceful_shutdown_timeout_s: amount(
      { min: 0, max: 86_400, default: 20 },
      'Seconds in which running calls may finish when the deployment is stopped, or when a replica must make ' +
        'room. Calls that have not finished then start again on another replica, if there is one.',
    ),
    drain_timeout_s: amount(
      { min: 0, max: 86_400, default: 3600 },
      'Seconds in which running calls may finish on a replica that is no longer needed, after an update or under ' +
        'lower load. The time is shorter when another deployment needs its place.',
    ),
    ray_actor_options: z
      .strictObject({
        num_gpus: GPUS.optional().describe(
          'GPUs per replica, or a share of one GPU below 1. The number only decides where replicas run; it does not ' +
            'limit their GPU use. Without a GPU in the machine, replicas run on the CPU. Default: 0, the CPU.',
        ),
        num_cpus: z
          .number()
          .min(0)
          .optional()
          .describe(
            'Processors that are reserved for each replica, and its number of threads if `user_config` sets none. ' +
              'Default: none reserved; the processors are divided among the replicas of all deployments.',
          ),
        memory_bytes: z
          .int()
          .min(1)
          .optional()
          .describe(
            'Memory in bytes that is reserved for each replica: on its GPUs, or main memory if it runs on the CPU.',
          ),
      })
      .default({})
      .describe('Devices of each replica.'),
    cpu_affinity: z
      .string()
      .refine(
        (list) => list === 'auto' || parseProcessorList(list) !== undefined,
        'must be "auto" or a list of processors such as "0-3,8"',
      )
      .optional()
      .describe(
        'Processors to which each replica is bound, with the numbers of Linux: a list such as `0-3,8`, which all ' +
          'replicas share, or `auto`, which gives each replica cores of its own while there are enough, one for each ' +
          'of its threads and of one NUMA node if they fit there. Linux only: elsewhere a list is refused, and ' +
          '`auto` binds nothing. Default: all processors of the host.',
      ),
    pinned: toggle(
      false,
      'Whether idle replicas stay when another deployment needs their place. Otherwise idle replicas above ' +
        '`min_replicas` are stopped.',
    ),
    autoscaling_config: AutoscalingConfig.optional().describe(
      'Range in which the number of replicas follows the load. It replaces `num_replicas`.',
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
/** Options as people write them; keys with a default are optional. */
export type DeploymentOptionsInput = z.input<typeof DeploymentOptions>;

/** Returns the number of replicas at the start. */
export function firstReplicas({ num_replicas: count, autoscaling_config: scaling }: DeploymentOptions): number {
  return scaling ? scaling.min_replicas : (count ?? 1);
}
