import { availableParallelism } from 'node:os';
import { totalMainBytes } from '../../base/core/machine/total-memory.ts';
import { compareVersions } from './needed-versions.ts';
import { PREBUILT_LIBRARIES } from './pins.ts';

export type BuildMode = 'prebuilt' | 'source';

/** `linux-x64`, `darwin-arm64`, … */
export const platformName = `${process.platform}-${process.arch}`;

/** The platform for which something is compiled, and the compiler for it. */
export interface Toolchain {
  /** `process.platform` and `process.arch` of the machines on which the result runs, such as `linux-arm64`. */
  readonly platform: string;
  /** CMake variables that choose the compiler. None: the compiler of this machine. */
  readonly definitions: Readonly<Record<string, string>>;
}

export const ownToolchain: Toolchain = { platform: platformName, definitions: {} };

/** Oldest glibc on which the published libraries run. */
const MINIMUM_GLIBC = '2.34';

/**
 * Returns `prebuilt` if published libraries can be used on this machine, and otherwise `source` (macOS, musl, old
 * distributions).
 */
export function defaultBuildMode(): BuildMode {
  return publishedLibrariesProblem() === undefined ? 'prebuilt' : 'source';
}

/** Returns why published libraries of llama.cpp cannot be used on this machine. Undefined if they can. */
export function publishedLibrariesProblem(): string | undefined {
  if (PREBUILT_LIBRARIES[platformName]) return glibcProblem(MINIMUM_GLIBC, glibcVersion());
  return `no libraries of llama.cpp are published for ${platformName}`;
}

/**
 * Returns why binaries that need this version of glibc cannot run on a machine that has the version `found`, or another
 * C library (undefined). Returns undefined if they can.
 */
export function glibcProblem(needed: string, found: string | undefined): string | undefined {
  const needs = `glibc ${needed} or later is needed, and this machine has`;
  if (found === undefined) return `${needs} another C library, such as musl`;
  return compareVersions(found, needed) < 0 ? `${needs} ${found}` : undefined;
}

/** Returns the version of this machine's glibc. Undefined with another C library. */
export function glibcVersion(): string | undefined {
  const report = process.report.getReport() as { readonly header?: { readonly glibcVersionRuntime?: string } };
  return report.header?.glibcVersionRuntime;
}

/** Returns the number of parallel compilers: one per core, with 1.5 GB of memory each. */
export function defaultJobs(): number {
  return Math.max(1, Math.min(availableParallelism(), Math.floor(totalMainBytes() / 1.5e9)));
}

/** Returns whether there is memory enough for compilers that look for unused memory late. They take 2.1 GB together. */
export function canCompileWithLargeHeaps(): boolean {
  return totalMainBytes() >= 6e9;
}
