import { join } from 'node:path';
import { packageRoot } from '../../../core/package-root.ts';

/** Ends the thread of a plugin, whatever it does. */
export interface HostOrder {
  /** Which one, by chance. */
  readonly number: number;
}

export const BENCH_PLUGIN: string = join(packageRoot, 'host/bench/fixtures/bench-plugin');
