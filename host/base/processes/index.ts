export { launcherPath } from './launcher.ts';
export { type RunContainedResult, runContained } from './run-contained.ts';
export { continueChild, endChild, pauseChild, spawnContained } from './spawn-contained.ts';
