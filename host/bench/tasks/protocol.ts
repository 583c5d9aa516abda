import type { StorageConfig } from '../../storage/index.ts';

/** Tasks that run at the same time, in every queue. */
export const WORKERS = 64;

/** What a queue is asked to do: many tasks at once, or one after the other on an idle queue. */
export type QueueJob =
  | { readonly type: 'throughput'; readonly tasks: number; readonly callers: number }
  | { readonly type: 'latency'; readonly samples: number; readonly pauseMs: number };

export interface QueueResult {
  /** Throughput: from the first accepted to the last stored as completed. */
  readonly seconds: number;
  /** Latency: from accepted to running, of each task. */
  readonly pickUpMs: readonly number[];
  /** Of the process of the queue. */
  readonly cpuMicroseconds: number;
}

export type FromQueue =
  | { readonly type: 'ready' }
  | { readonly type: 'result'; readonly result: QueueResult }
  | { readonly type: 'failed'; readonly reason: string };

export interface QueueArguments {
  readonly database: StorageConfig;
  /** A folder of its own. */
  readonly folder: string;
  /** Where the package is that is compared with. */
  readonly module?: string;
}
