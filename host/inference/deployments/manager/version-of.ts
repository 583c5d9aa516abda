import type { ReplicaVersion } from '../../replicas/index.ts';
import type { BoundDeployment } from '../class/bound-deployment.ts';
import type { ReplicaSpec } from '../class/deployment-definition.ts';
import type { DeploymentPlaces } from '../placement/deployment-places.ts';

/** Returns the version of a deployment in the terms of host/inference/replicas. */
export function replicaVersion(
  { definition, options }: BoundDeployment,
  spec: ReplicaSpec,
  places: DeploymentPlaces,
): ReplicaVersion {
  const scaling = options.autoscaling_config;
  return {
    implementation: definition.implementation,
    spec,
    count: options.num_replicas ?? 1,
    autoscaling: scaling && {
      minReplicas: scaling.min_replicas,
      maxReplicas: scaling.max_replicas,
      targetOngoing: scaling.target_ongoing_requests,
      upscaleDelayMs: scaling.upscale_delay_s * 1000,
      downscaleDelayMs: scaling.downscale_delay_s * 1000,
    },
    places,
    maxOngoing: options.max_ongoing_requests ?? definition.maxOngoingRequests(options.user_config),
    maxQueued: options.max_queued_requests,
    pausesForOthers: definition.pausesForOthers,
    graceMs: options.graceful_shutdown_timeout_s * 1000,
    drainMs: options.drain_timeout_s * 1000,
    startTimeoutMs: options.start_timeout_s * 1000,
    healthPeriodMs: options.health_check_period_s * 1000,
    healthTimeoutMs: options.health_check_timeout_s * 1000,
  };
}
