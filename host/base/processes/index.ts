export { launcherPath } from './launcher.ts';
export { type RunContainedResult, runContained } from './run-contained.ts';
export { spawnContained } from './spawn-contained.ts';
