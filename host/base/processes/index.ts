export { type ProcessLimits, launcherPath } from './launcher.ts';
export { type RunContainedOptions, type RunContainedResult, runContained } from './run-contained.ts';
export { type SpawnContainedOptions, endChild, spawnContained } from './spawn-contained.ts';
