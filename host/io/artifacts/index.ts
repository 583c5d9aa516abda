export { artifactFolders, ARTIFACTS_DIR, TASK_FILES_DIR } from './artifact-folders.ts';
export { artifactOf } from './artifact-of.ts';
export { artifactPath, verifiedPath } from './artifact-path.ts';
export { growingPaths } from './growing-paths.ts';
