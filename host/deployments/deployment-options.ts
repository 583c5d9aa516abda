import * as z from 'zod';

const seconds = z.number().positive().max(86_400);

/** One entry of `deployments` in the configuration file. Keys are those of the options that deployments have always had. */
export const DeploymentOptions = z.strictObject({
  type: z.string().min(1).describe('Kind of deployment: `WhisperDeployment` or `LlamaTextGenerationDeployment`.'),
  num_replicas: z.int().min(1).max(64).default(1).describe('Processes that each hold a copy of the model.'),
  max_ongoing_requests: z.int().min(1).max(1000).optional().describe('Calls that one replica works on at the same time. Default: 8 for Whisper, 16 for text generation.'),
  max_queued_requests: z.int().min(0).max(100_000).default(100).describe('Calls that wait for a replica; more are refused with status 503.'),
  user_config: z.record(z.string(), z.unknown()).default({}).describe('What the kind of deployment wants to know: its model, its defaults.'),
  health_check_period_s: seconds.default(10).describe('Seconds between health checks of a replica.'),
  health_check_timeout_s: seconds.default(30).describe('Seconds without an answer, or without any progress of an engine that has work, after which a replica is killed and replaced.'),
  graceful_shutdown_timeout_s: z.number().min(0).max(86_400).default(20).describe('Seconds that running calls may take to finish when the deployment is stopped.'),
  ray_actor_options: z
    .strictObject({
      num_gpus: z.number().min(0).optional().describe('GPUs per replica: 0 keeps the model off them. Default: whatever there is.'),
      num_cpus: z.number().min(0).optional().describe('CPU threads per replica, where `user_config` names none.'),
    })
    .default({})
    .describe('Devices of each replica.'),
});
export type DeploymentOptions = z.infer<typeof DeploymentOptions>;
/** As people write it: what has a default may be absent. */
export type DeploymentOptionsInput = z.input<typeof DeploymentOptions>;
