export { beforeSignals } from './before-signals.ts';
export { extractMembers, readMember } from './extract-members.ts';
export { fetchPackage, packagePath } from './fetch-package.ts';
export { withFileLock } from './file-lock.js';
export { hashFile } from './integrity.ts';
export { describePackage, type PackageSource } from './package-source.ts';
export {
  formatBytes,
  type ProgressPart,
  type ProgressStream,
  type ReportProgress,
  reportWithin,
  shareProgress,
  withProgress,
} from './progress.ts';
