export { AttemptReport } from './attempt-report.ts';
export { isUnserved, retryDelayMs } from './retry-policy.ts';
export {
  type DeferredRequest,
  TaskQueue,
  type TaskQueueConfig,
  type TaskQueueOptions,
  type WatchOptions,
} from './task-queue.ts';
export {
  TASK_STATUSES,
  type AttemptRecord,
  type ListedTask,
  type TaskEvent,
  type TaskRecord,
  type TaskStatus,
} from '../storage/index.ts';
export type { HostWork } from './task-runners.ts';
