export { launcherPath } from './launcher.ts';
export { type RunContainedResult, runContained } from './run-contained.ts';
export { endChild, spawnContained } from './spawn-contained.ts';
