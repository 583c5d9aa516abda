/**
 * - The statuses of a task.
 *
 * - `created`: waits for its first attempt
 * - `assigned`: a host has it and has not begun. A claim leads to `running` at once; only an event has this name, and
 *   tasks that a host of an earlier version has claimed
 * - `running`: its endpoint runs
 * - `not_finished`: an attempt was lost or failed with an error that may pass; another one is due
 * - `completed`, `failed`, `cancelled`: ended
 */
export const TASK_STATUSES = [
  'created',
  'assigned',
  'running',
  'completed',
  'failed',
  'not_finished',
  'cancelled',
] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/**
 * The changes of a status. `claim`: a host claims the task and its endpoint begins. `complete`: the attempt has a
 * result. `fail`: another attempt would not help, or none is left. `release`: this attempt is over and another one may
 * follow. `cancel`: a user cancels the task. `retry`: a user requests new attempts.
 */
export type TaskTransition = 'claim' | 'complete' | 'fail' | 'release' | 'cancel' | 'retry';

const TRANSITIONS: Readonly<Record<TaskStatus, Readonly<Partial<Record<TaskTransition, TaskStatus>>>>> = {
  created: { claim: 'running', cancel: 'cancelled' },
  not_finished: { claim: 'running', cancel: 'cancelled' },
  assigned: { fail: 'failed', release: 'not_finished', cancel: 'cancelled' },
  running: { complete: 'completed', fail: 'failed', release: 'not_finished', cancel: 'cancelled' },
  completed: {},
  failed: { retry: 'created' },
  cancelled: {},
};

/** Returns the status after a transition; undefined if `status` has no such transition. */
export function nextTaskStatus(status: TaskStatus, transition: TaskTransition): TaskStatus | undefined {
  return TRANSITIONS[status][transition];
}

/** Returns the statuses that have this transition. */
export function statusesBefore(transition: TaskTransition): readonly TaskStatus[] {
  return TASK_STATUSES.filter((status) => TRANSITIONS[status][transition] !== undefined);
}

/** Returns whether a task with this status has ended. */
export function hasEnded(status: TaskStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}
