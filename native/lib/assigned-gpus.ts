/**
 * The variable with the names of a replica's GPUs, separated by commas, as the engines name them. It is used for GPUs
 * that `CUDA_VISIBLE_DEVICES` does not control.
 */
export const GPU_DEVICES_VARIABLE = 'AANA_GPU_DEVICES';

/** Returns the names of the GPUs that this process was given; empty if it may use all GPUs that it sees. */
export function assignedGpus(env: NodeJS.ProcessEnv = process.env): string[] {
  return (env[GPU_DEVICES_VARIABLE] ?? '').split(',').filter((name) => name !== '');
}
