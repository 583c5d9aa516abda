/**
 * The variable in which a replica finds its GPUs by the engines' names, separated by commas, where
 * `CUDA_VISIBLE_DEVICES` has no say over them.
 */
export const GPU_DEVICES_VARIABLE = 'AANA_GPU_DEVICES';

/** Returns the names of the GPUs that this process was given; none where it may use all that it sees. */
export function assignedGpus(env: NodeJS.ProcessEnv = process.env): string[] {
  return (env[GPU_DEVICES_VARIABLE] ?? '').split(',').filter((name) => name !== '');
}
