import { join } from 'node:path';
import { packageRoot } from '../../../base/core/package-root.ts';

/** An order to a host. `clock`: sets the wall clock `ms` before (negative) or after that of the machine. */
export type HostOrder =
  | { readonly kind: 'clock'; readonly ms: number }
  | { readonly kind: 'unload' | 'load'; readonly deployment: string };

/** What a host sends: its URL, and then a message for each order that it has carried out. */
export type HostMessage = { readonly url: string } | { readonly done: true };

export const BENCH_PLUGIN: string = join(packageRoot, 'host/bench/fixtures/bench-plugin');
