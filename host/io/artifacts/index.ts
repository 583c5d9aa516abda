export { ArtifactCopies } from './artifact-copies.ts';
export { artifactOf } from './artifact-of.ts';
export { findGrowing, type GrowingFiles, localArtifact, notFound } from './find-artifact.ts';
export { artifactsIn } from './named-artifacts.ts';
export { readArtifact } from './read-artifact.ts';
export { prepareTempDir, ProcessFolder, removeStaleFolders } from './temp-folders.ts';
