import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { CUDA_BACKENDS, PREBUILT_LIBRARIES } from './pins.ts';

export type BuildMode = 'prebuilt' | 'source';

/** `linux-x64`, `darwin-arm64`, … */
export const platformName = `${process.platform}-${process.arch}`;

/** Oldest glibc on which the published libraries run. */
const MINIMUM_GLIBC: readonly [number, number] = [2, 34];

/**
 * Returns `prebuilt` if there are published libraries for this platform and C library, and otherwise `source` (macOS,
 * musl, old distributions).
 */
export function defaultBuildMode(): BuildMode {
  return PREBUILT_LIBRARIES[platformName] && hasNewEnoughGlibc() ? 'prebuilt' : 'source';
}

function hasNewEnoughGlibc(): boolean {
  const report = process.report.getReport() as { readonly header?: { readonly glibcVersionRuntime?: string } };
  const version = report.header?.glibcVersionRuntime; // absent on musl
  if (version === undefined) return false;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > MINIMUM_GLIBC[0] || (major === MINIMUM_GLIBC[0] && minor >= MINIMUM_GLIBC[1]);
}

/** Returns whether this machine has an NVIDIA GPU and a CUDA backend is published for it. */
export function canUseCudaBackend(): boolean {
  if (!CUDA_BACKENDS[platformName]) return false;
  return existsSync('/proc/driver/nvidia/version') || spawnSync('nvidia-smi', ['-L'], { stdio: 'ignore' }).status === 0;
}

/** Returns the number of parallel compilers: one per core, with 1.5 GB of memory each. */
export function defaultJobs(): number {
  return Math.max(1, Math.min(availableParallelism(), Math.floor(totalmem() / 1.5e9)));
}
