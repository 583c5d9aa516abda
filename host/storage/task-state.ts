/**
 * - `created`: waits for its first attempt
 * - `assigned`: a host has it and has not begun. A claim leads to `running` at once; only an event has this name, and
 *   tasks that a host of an earlier version has claimed
 * - `running`: its endpoint runs
 * - `not_finished`: an attempt was lost or failed for a while; another one is due
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
 * `claim`: a host takes it and its endpoint begins. `complete`: it has its result. `fail`: no other attempt would help,
 * or none is left. `release`: this attempt is over, another one may come. `cancel`: it is not wanted any more. `retry`:
 * somebody asks for new attempts.
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

/** The status after a transition; undefined where there is none from `status`. */
export function nextTaskStatus(status: TaskStatus, transition: TaskTransition): TaskStatus | undefined {
  return TRANSITIONS[status][transition];
}

/** Statuses that a transition can be made from. */
export function statusesBefore(transition: TaskTransition): readonly TaskStatus[] {
  return TASK_STATUSES.filter((status) => TRANSITIONS[status][transition] !== undefined);
}

/** Whether nothing happens to it any more by itself. */
export function hasEnded(status: TaskStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}
