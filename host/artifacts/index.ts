export { artifactOf } from './artifact-of.ts';
export { artifactPath, ARTIFACTS_DIR } from './artifact-path.ts';
