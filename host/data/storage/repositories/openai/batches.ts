import type { Connection } from '../../database.ts';
import { CallerRepository, loadStatements } from '../../statements.ts';
import { type TaskStatus, hasEnded } from '../../task-state.ts';

const sql = loadStatements('batches', ['insert', 'read', 'newest', 'oldest', 'cancel', 'remove', 'prune']);

export type BatchStatus =
  | 'validating'
  | 'in_progress'
  | 'finalizing'
  | 'completed'
  | 'failed'
  | 'expired'
  | 'cancelling'
  | 'cancelled';

/** A batch before its first attempt. Times are milliseconds since 1970. */
export interface NewBatch {
  readonly id: string;
  /** The path whose requests the batch has. */
  readonly endpoint: string;
  readonly input_file_id: string;
  /** JSON. */
  readonly metadata: string | null;
  /** Seconds from the creation of the files of the batch to their expiry; null is the setting. */
  readonly output_expires_after: number | null;
  readonly created_at: number;
  readonly expires_at: number;
  /** The number of requests; 0 for an input that the first attempt checks. */
  readonly total: number;
}

/** A batch. Times are null for what has not happened. */
export interface BatchRecord extends NewBatch {
  readonly status: BatchStatus;
  /** The number of the latest attempt. */
  readonly attempt: number;
  readonly in_progress_at: number | null;
  readonly finalizing_at: number | null;
  readonly completed_at: number | null;
  readonly failed_at: number | null;
  readonly expired_at: number | null;
  readonly cancelling_at: number | null;
  readonly cancelled_at: number | null;
  /** The errors of the input, as JSON. */
  readonly errors: string | null;
  /** The model of all requests; null for several models. */
  readonly model: string | null;
  readonly completed: number;
  readonly failed: number;
  readonly input_tokens: number;
  readonly cached_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
  readonly output_file_id: string | null;
  readonly error_file_id: string | null;
}

/** A batch of a user. */
export interface ListedBatch extends BatchRecord {
  /** Whether its task ended before the batch did, so that nothing changes the batch any more. */
  readonly isAbandoned: boolean;
}

export interface BatchPage {
  /** What the ids of the batches begin with. */
  readonly prefix: string;
  /** The id of the batch before the page, or of the one behind it. They may be gone. */
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly limit: number;
}

/** Comes behind every hexadecimal digit, in every collation. */
const BEHIND = 'g';

/** The batches of a user, or of all callers where the host requires no keys (null). */
export class BatchRepository extends CallerRepository {
  /** Stores a batch that the task runs. Does nothing for a batch that is stored again after an unknown commit. */
  async insert(batch: NewBatch, taskId: string): Promise<void> {
    const isChecked = batch.total > 0;
    await this.connection.query(sql.insert, [
      batch.id,
      this.owner,
      taskId,
      batch.endpoint,
      batch.input_file_id,
      batch.metadata,
      batch.output_expires_after,
      batch.created_at,
      batch.expires_at,
      isChecked ? 'in_progress' : 'validating',
      isChecked ? batch.created_at : null,
      batch.total,
    ]);
  }

  async read(id: string): Promise<ListedBatch | undefined> {
    const [row] = await this.connection.query<BatchRow>(sql.read, [id, this.owner]);
    return row && listed(row);
  }

  /**
   * Returns at most `limit` batches, the newest first: those right before `before`, or else those right after `after`.
   */
  async list({ prefix, after = prefix + BEHIND, before, limit }: BatchPage): Promise<ListedBatch[]> {
    const values = [this.owner, before ?? prefix, after, limit];
    const rows = await this.connection.query<BatchRow>(before === undefined ? sql.newest : sql.oldest, values);
    return (before === undefined ? rows : rows.toReversed()).map(listed);
  }

  /**
   * Asks the attempt at a batch to end, or ends a batch before its first attempt and returns the id of its task, which
   * has no use any more. Does nothing when the batch has ended or is about to.
   */
  async cancel(id: string): Promise<string | undefined> {
    const values = [id, this.owner, this.connection.now()];
    const [batch] = await this.connection.query<{ task_id: string; attempt: number }>(sql.cancel, values);
    return batch?.attempt === 0 ? batch.task_id : undefined;
  }

  /** Removes a batch with its answers. */
  async delete(id: string): Promise<void> {
    await this.connection.query(sql.remove, [id, this.owner]);
  }
}

/** Removes at most `limit` batches of all users that were created before `before`. Returns their number. */
export async function pruneBatches(connection: Connection, before: number, limit: number): Promise<number> {
  return (await connection.query(sql.prune, [before, limit])).length;
}

/** Returns whether a batch with this status has ended. */
export function batchHasEnded(status: BatchStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'expired' || status === 'cancelled';
}

type BatchRow = BatchRecord & { readonly task_status: TaskStatus | null };

function listed({ task_status: task, ...batch }: BatchRow): ListedBatch {
  return { ...batch, isAbandoned: !batchHasEnded(batch.status) && (task === null || hasEnded(task)) };
}
