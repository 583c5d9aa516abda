/**
 * - `created`: waits for its first attempt
 * - `assigned`: a host has it, and has not begun
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
 * `assign`: a host takes it. `start`: its endpoint begins. `complete`: it has its result. `fail`: no other attempt
 * would help, or none is left. `release`: this attempt is over, another one may come. `cancel`: it is not wanted any
 * more. `retry`: somebody asks for new attempts.
 */
export type TaskTransition = 'assign' | 'start' | 'complete' | 'fail' | 'release' | 'cancel' | 'retry';

const TRANSITIONS: Readonly<Record<TaskStatus, Readonly<Partial<Record<TaskTransition, TaskStatus>>>>> = {
  created: { assign: 'assigned', cancel: 'cancelled' },
  not_finished: { assign: 'assigned', cancel: 'cancelled' },
  assigned: { start: 'running', fail: 'failed', release: 'not_finished', cancel: 'cancelled' },
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
