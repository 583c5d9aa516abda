import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../core/package-root.ts';

const LAUNCHER = join(packageRoot, 'build', 'Release', 'aana-launcher');

/**
 * The program that starts children which die with this process, inside limits; absent off Linux and before the native
 * build.
 */
export function launcherPath(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    accessSync(LAUNCHER, constants.X_OK);
    return LAUNCHER;
  } catch {
    return undefined;
  }
}

/** Bounds of a child process. Only the launcher can set them; without it (off Linux) they are not enforced. */
export interface ProcessLimits {
  /** Lowest priority wins: 19 is the nicest. A parent that is nicer already keeps its niceness. */
  readonly nice?: number | undefined;
  /** Seconds of CPU time, all threads together; then SIGXCPU, a second later SIGKILL. */
  readonly cpuSeconds?: number | undefined;
  /** Bytes of each file it writes; then SIGXFSZ. */
  readonly fileBytes?: number | undefined;
  /** Bytes of address space: allocations beyond it fail. */
  readonly addressBytes?: number | undefined;
  /** Open descriptors. */
  readonly openFiles?: number | undefined;
}

/** The launcher's command line up to and with `--`. `parent` is the process whose death ends the child. */
export function launcherArguments(limits: ProcessLimits, parent: number): string[] {
  const options: readonly (readonly [string, number | undefined])[] = [
    ['--nice', limits.nice],
    ['--cpu', limits.cpuSeconds],
    ['--fsize', limits.fileBytes],
    ['--as', limits.addressBytes],
    ['--nofile', limits.openFiles],
    ['--parent', parent],
  ];
  return [
    ...options.flatMap(([name, value]) => (value === undefined ? [] : [name, String(Math.max(0, Math.ceil(value)))])),
    '--',
  ];
}
