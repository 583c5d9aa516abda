import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { processorListText } from '../core/machine/processor-list.ts';
import { packageRoot } from '../core/package-root.ts';

const LAUNCHER = join(packageRoot, 'build', 'Release', 'aana-launcher');

/**
 * Returns the path of the launcher, which starts children with limits that end with this process. Undefined on other
 * systems than Linux and before the native build.
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

/** Limits of a child process. They need the launcher, so they are not enforced on other systems than Linux. */
export interface ProcessLimits {
  /** Niceness up to 19. A child is never less nice than this process. */
  readonly nice?: number | undefined;
  /** Seconds of CPU time of all threads together. Then the child gets SIGXCPU, and SIGKILL a second later. */
  readonly cpuSeconds?: number | undefined;
  /** Size of each file that it writes, in bytes. Then the child gets SIGXFSZ. */
  readonly fileBytes?: number | undefined;
  /** Address space in bytes. Allocations beyond it fail. */
  readonly addressBytes?: number | undefined;
  /**
   * Numbers of the processors that it and its threads may use. The start fails when this process may use none of them.
   */
  readonly processors?: readonly number[] | undefined;
  /** Number of open file descriptors. */
  readonly openFiles?: number | undefined;
}

/** Returns the launcher's arguments up to and including `--`. The child ends when process `parent` ends. */
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
    ...(limits.processors ? ['--affinity', processorListText(limits.processors)] : []),
    ...options.flatMap(([name, value]) => (value === undefined ? [] : [name, String(Math.max(0, Math.ceil(value)))])),
    '--',
  ];
}
