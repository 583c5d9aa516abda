import type { TaskStatus } from '../task-state.ts';

export interface StoredFile {
  /** Name of the part of the form. */
  readonly name: string;
  /** Relative to the folder of the tasks; with `bytes` and `sha256` it is an artifact, whose id it is. */
  readonly path: string;
  readonly bytes: number;
  /** Of all bytes, in hexadecimal. Absent in tasks of earlier versions. */
  readonly sha256?: string | undefined;
  readonly filename?: string | undefined;
  readonly mimeType?: string | undefined;
}

export interface NewTask {
  readonly id: string;
  /** Path of the endpoint. */
  readonly endpoint: string;
  /** The input, as JSON. */
  readonly data: string;
  readonly files: readonly StoredFile[];
  /** Higher ones first. */
  readonly priority: number;
  readonly user_id: string | null;
  /** Time for one attempt. */
  readonly timeout_ms: number;
  readonly max_attempts: number;
  readonly idempotency_key: string | null;
  /** Same request, same hash. */
  readonly request_hash: string;
  /** The place of the request in a distributed trace, as a valid `traceparent`. */
  readonly traceparent?: string | null | undefined;
}

export interface TaskRecord {
  readonly id: string;
  readonly endpoint: string;
  /** JSON, as `result` is. */
  readonly data: string;
  readonly status: TaskStatus;
  readonly result: string | null;
  /** Name of the error that a failed task ended with. */
  readonly error: string | null;
  /** Percent. */
  readonly progress: number;
  readonly priority: number;
  readonly user_id: string | null;
  /** Attempts so far. */
  readonly num_retries: number;
  readonly created_at: number;
  readonly assigned_at: number | null;
  readonly completed_at: number | null;
}

/** A task in a list: input and result are null where they are large. */
export interface ListedTask extends Omit<TaskRecord, 'data'> {
  readonly data: string | null;
  /** Which of them were left out. */
  readonly omitted: readonly ('data' | 'result')[];
}

/** Which tasks are meant; what is not given does not matter. */
export interface TaskFilter {
  readonly endpoint?: string | undefined;
  /** Paths of endpoints: those of others are not meant. Counts for {@link TaskRepository.retryFailed}. */
  readonly endpoints?: readonly string[] | undefined;
  /** Name of the error that a failed task ended with. */
  readonly error?: string | undefined;
}

/** What became of one attempt. */
export interface AttemptRecord {
  /** Its number, from 1 on; it goes on counting when a failed task gets new attempts. */
  readonly lease_token: number;
  /** Who had it. */
  readonly host: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  /** The status that it left the task in, or `lost`; null while it runs. */
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
