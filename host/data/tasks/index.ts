export { AttemptReport } from './attempt-report.ts';
export { isUnserved, retryDelayMs } from './retry-policy.ts';
export { TaskQueue, type TaskQueueConfig, type TaskQueueOptions } from './task-queue.ts';
export type { DeferredRequest, UserTasks, WatchOptions } from './user-tasks.ts';
export {
  TASK_STATUSES,
  type AttemptRecord,
  type ListedTask,
  type TaskEvent,
  type TaskRecord,
  type TaskStatus,
} from '../storage/index.ts';
export type { HostWork } from './task-runners.ts';
