import type { TaskStatus } from '../../task-state.ts';

export interface StoredFile {
  /** The name of the part of the form. */
  readonly name: string;
  /** The path relative to the folder of the tasks. It is the id of the artifact that has these `bytes` and `sha256`. */
  readonly path: string;
  readonly bytes: number;
  /** The SHA-256 of all bytes, in hexadecimal. Absent if the file came without one. */
  readonly sha256?: string | undefined;
  readonly filename?: string | undefined;
  readonly mimeType?: string | undefined;
}

export interface NewTask {
  readonly id: string;
  /** The path of the endpoint. */
  readonly endpoint: string;
  /** The input, as JSON. */
  readonly data: string;
  readonly files: readonly StoredFile[];
  /** A task with a higher priority is claimed first. */
  readonly priority: number;
  readonly user_id: string | null;
  /** The time for one attempt. */
  readonly timeout_ms: number;
  readonly max_attempts: number;
  readonly idempotency_key: string | null;
  /** The hash of the request. */
  readonly request_hash: string;
  /** The place of the request in a distributed trace, as a valid `traceparent`. */
  readonly traceparent?: string | null | undefined;
}

export interface TaskRecord {
  readonly id: string;
  readonly endpoint: string;
  /** JSON, like `result`. */
  readonly data: string;
  readonly status: TaskStatus;
  readonly result: string | null;
  /** Name of the error that a failed task ended with. */
  readonly error: string | null;
  /** Percent. */
  readonly progress: number;
  readonly priority: number;
  readonly user_id: string | null;
  /** The number of attempts so far. */
  readonly num_retries: number;
  readonly created_at: number;
  readonly assigned_at: number | null;
  readonly completed_at: number | null;
}

/** A task in a list. A large input or result is null. */
export interface ListedTask extends Omit<TaskRecord, 'data'> {
  readonly data: string | null;
  /** The fields that were left out. */
  readonly omitted: readonly ('data' | 'result')[];
}

/** A filter of tasks. Absent fields accept all tasks. */
export interface TaskFilter {
  readonly endpoint?: string | undefined;
  /** Only tasks of endpoints with these paths. Used by {@link TaskRepository.retryFailed}. */
  readonly endpoints?: readonly string[] | undefined;
  /** Name of the error that a failed task ended with. */
  readonly error?: string | undefined;
}

/** One attempt with its outcome. */
export interface AttemptRecord {
  /** The number of the attempt, counted from 1 over the whole life of the task, also after a retry. */
  readonly lease_token: number;
  /** The holder of the attempt. */
  readonly host: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  /** The status of the task after the attempt, or `lost`; null while the attempt runs. */
  readonly outcome: string | null;
  /** JSON. */
  readonly error: string | null;
}

export interface TaskEvent {
  readonly id: number;
  readonly event: string;
  /** JSON. */
  readonly data: string;
  readonly created_at: number;
}
