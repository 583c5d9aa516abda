import { join } from 'node:path';
import { packageRoot } from '../../../core/package-root.ts';

/** An order to end the thread of a plugin, whatever it does. */
export interface HostOrder {
  /** A random number that selects the thread. */
  readonly number: number;
}

export const BENCH_PLUGIN: string = join(packageRoot, 'host/bench/fixtures/bench-plugin');
