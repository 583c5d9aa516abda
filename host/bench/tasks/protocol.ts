import type { StorageConfig } from '../../data/storage/index.ts';

/** Number of tasks that run at the same time in every queue. */
export const WORKERS = 64;

/** A job for a queue: many tasks at once, or one after the other on an idle queue. */
export type QueueJob =
  | { readonly type: 'throughput'; readonly tasks: number; readonly callers: number }
  | { readonly type: 'latency'; readonly samples: number; readonly pauseMs: number };

export interface QueueResult {
  /** Throughput: seconds from the first accepted task to the last task stored as completed. */
  readonly seconds: number;
  /** Latency: milliseconds from accepted to running, for each task. */
  readonly pickUpMs: readonly number[];
  /** CPU time of the queue's process. */
  readonly cpuMicroseconds: number;
}

export type FromQueue =
  | { readonly type: 'ready' }
  | { readonly type: 'result'; readonly result: QueueResult }
  | { readonly type: 'failed'; readonly reason: string };

export interface QueueArguments {
  readonly database: StorageConfig;
  /** A folder for the queue's files. */
  readonly folder: string;
  /** A file from which to import the compared package. */
  readonly module?: string;
}
