export { beforeSignals } from './before-signals.ts';
export { extractMembers, type ExtractOptions } from './extract-members.ts';
export { fetchPackage, type FetchPackageOptions, packagePath } from './fetch-package.ts';
export { type FileLockOptions, withFileLock } from './file-lock.js';
export { hashFile, integrityMismatch } from './integrity.ts';
export { describePackage, type PackageSource } from './package-source.ts';
export {
  formatBytes,
  type ProgressOptions,
  type ProgressPart,
  type ProgressStream,
  type ReportProgress,
  reportWithin,
  shareProgress,
  withProgress,
} from './progress.ts';
