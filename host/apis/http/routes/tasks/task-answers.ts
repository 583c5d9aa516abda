import type { Attempt, TaskCounts } from './task-definitions.ts';
import type { Task } from '../../../openapi/index.ts';
import type { AttemptRecord, ListedTask, TaskRecord, TaskStatus } from '../../../../data/tasks/index.ts';
import { isoTime, isoTimeOrNull } from '../iso-time.ts';

/** Returns a task for clients: the keys of the original, and ours. */
export function taskInfo(task: TaskRecord | ListedTask, includeStacktrace: boolean): Task {
  return {
    id: task.id,
    endpoint: task.endpoint,
    data: task.data === null ? null : (JSON.parse(task.data) as unknown),
    status: task.status,
    result:
      task.status === 'failed'
        ? errorInfo(task.result, includeStacktrace)
        : task.result === null
          ? null
          : (JSON.parse(task.result) as unknown),
    progress: task.progress,
    num_retries: task.num_retries,
    priority: task.priority,
    created_at: isoTime(task.created_at),
    assigned_at: isoTimeOrNull(task.assigned_at),
    completed_at: isoTimeOrNull(task.completed_at),
    ...('omitted' in task && task.omitted.length > 0 && { omitted: task.omitted }),
  };
}

/**
 * Returns an attempt for clients. A host is `<machine>/<pid>/<id>`. Users see only the last part, which distinguishes
 * processes.
 */
export function attemptInfo(
  { lease_token: attempt, host: owner, started_at: startedAt, ended_at: endedAt, outcome, error }: AttemptRecord,
  { showsHost, includeStacktrace }: { readonly showsHost: boolean; readonly includeStacktrace: boolean },
): Attempt {
  const host = showsHost ? owner : owner.slice(owner.lastIndexOf('/') + 1);
  return {
    attempt,
    host,
    started_at: isoTime(startedAt),
    ended_at: isoTimeOrNull(endedAt),
    outcome,
    error: errorInfo(error, includeStacktrace),
  };
}

/** Returns a stored error, without its stack unless stacks are shown. */
function errorInfo(json: string | null, includeStacktrace: boolean): Record<string, unknown> | null {
  if (json === null) return null;
  const error = JSON.parse(json) as Record<string, unknown>;
  return includeStacktrace ? error : { ...error, stacktrace: null };
}

/** Returns the numbers of tasks by status, with their sum. */
export function taskCounts(counts: Partial<Record<TaskStatus, number>>): TaskCounts {
  return { ...counts, total: Object.values(counts).reduce((sum, count) => sum + count, 0) };
}
