import { type AanaError, fail } from '../../../base/core/errors.ts';
import { timeOrderedId } from '../../../base/core/ids.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { Caller, ForCallers } from '../../../base/core/request-context.ts';
import type { ServedEndpoint } from '../../../endpoints/registry/index.ts';
import type { FileRecord } from '../../../data/files/index.ts';
import { isIdWith } from '../list-page.ts';
import { type BatchPage, type ListedBatch, pruneBatches, Pruner, type Storage } from '../../../data/storage/index.ts';
import type { TaskQueue } from '../../../data/tasks/index.ts';
import { type BatchFormat, formatOf } from './batch-format.ts';
import type { SearchRights } from '../vector-stores/search-stores.ts';
import type { BatchTask } from './batch-work.ts';

export interface BatchesOptions {
  readonly storage: Storage;
  /** The queue whose tasks run batches. Undefined if it is off. */
  readonly tasks: TaskQueue | undefined;
  /** The work of their tasks. */
  readonly work: ServedEndpoint;
  /** The APIs that have batches. */
  readonly formats: readonly BatchFormat[];
  /** How long a batch is kept after it was created, in seconds; 0 is for ever. */
  readonly retentionS: number;
  readonly log: Logger;
}

export interface BatchOrder {
  readonly endpoint: string;
  readonly input: FileRecord;
  /** The number of requests of an input that the host wrote. Inputs of clients are checked before any request runs. */
  readonly total?: number;
  readonly metadata: Readonly<Record<string, string>> | null;
  /** Seconds from the creation of the files of the batch to their expiry. Default: the setting of files. */
  readonly outputExpiresAfterS: number | undefined;
  /** The deployments that the requests may use, and the scopes of their key. */
  readonly rights: SearchRights;
}

/** The batches of a caller in one API. Other batches are not found. */
export interface ApiBatches {
  /** Throws `RuntimeError` when the task queue is off, and the errors of `UserTasks.enqueue`. */
  create(order: BatchOrder): Promise<ListedBatch>;
  find(id: string): Promise<ListedBatch | undefined>;
  /** Returns a page, the newest first. */
  list(page: Omit<BatchPage, 'prefix'>): Promise<readonly ListedBatch[]>;
  /**
   * Ends the requests that run. Does nothing for a batch that is about to end; undefined for one that does not exist.
   * Throws `BatchEnded` for a batch that ended otherwise.
   */
  cancel(id: string): Promise<ListedBatch | undefined>;
  /** Removes a batch that has ended. */
  delete(id: string): Promise<void>;
}

/** The batches of a caller. */
export interface UserBatches {
  in(format: BatchFormat): ApiBatches;
}

/** The completion window of every batch. */
const WINDOW_MS = 86_400_000;
/** The time limit of an attempt, after which the batch has expired in any case. */
const ATTEMPT_S = 90_000;
/** A batch survives so many hosts that are lost while they run it. */
const MAX_ATTEMPTS = 100;

/** Requests that run as a task each file. They are removed after a time. */
export class Batches implements ForCallers<UserBatches> {
  readonly #options: BatchesOptions;
  readonly #pruner: Pruner;

  constructor(options: BatchesOptions) {
    const { storage, log, retentionS } = options;
    this.#options = options;
    this.#pruner = new Pruner({
      storage,
      log,
      what: 'batches',
      retentionMs: retentionS * 1000,
      prune: ({ connection }, before, limit) => pruneBatches(connection, before, limit),
    });
  }

  /** Begins to remove old batches. The first batch does this, too. May be called twice. */
  start(): void {
    this.#pruner.start();
  }

  /** May be called twice. */
  stop(): Promise<void> {
    return this.#pruner.stop();
  }

  as(caller: Caller): UserBatches {
    return { in: (format) => this.#in(format, caller) };
  }

  #in({ prefix }: BatchFormat, caller: Caller): ApiBatches {
    const { userId, traceparent } = caller;
    const storage = this.#options.storage.inTrace(traceparent);
    const find = async (id: string): Promise<ListedBatch | undefined> =>
      isIdWith(prefix, id) ? storage.read((repositories) => repositories.batchesOf(userId).read(id)) : undefined;
    return {
      create: (order) => this.#create(caller, order),
      find,
      list: (page) => storage.read((repositories) => repositories.batchesOf(userId).list({ ...page, prefix })),
      cancel: async (id) => {
        if (isIdWith(prefix, id))
          await storage.write(async (repositories) => {
            const idle = await repositories.batchesOf(userId).cancel(id);
            if (idle !== undefined) await repositories.tasks.cancel(idle, userId);
          });
        const batch = await find(id);
        if (batch && (batch.isAbandoned || ['completed', 'failed', 'expired'].includes(batch.status)))
          throw ended(batch);
        return batch;
      },
      delete: (id) => storage.write((repositories) => repositories.batchesOf(userId).delete(id)),
    };
  }

  async #create(caller: Caller, order: BatchOrder): Promise<ListedBatch> {
    const { storage, tasks, work, formats } = this.#options;
    if (!tasks) throw fail('RuntimeError', 'Batches are tasks, but the task queue is off.');
    const now = await storage.now();
    const format = formatOf(formats, order.endpoint);
    const id = format.prefix + timeOrderedId(now);
    const {
      input,
      rights: { deployments, scopes },
      metadata,
      outputExpiresAfterS,
    } = order;
    const batch = {
      id,
      endpoint: order.endpoint,
      input_file_id: input.id,
      metadata: metadata && JSON.stringify(metadata),
      output_expires_after: outputExpiresAfterS ?? null,
      created_at: now,
      expires_at: now + WINDOW_MS,
      total: order.total ?? 0,
    };
    await tasks.as(caller).enqueue(work, {
      input: {
        batch_id: id,
        deployments: deployments && [...deployments],
        scopes: scopes && [...scopes],
      } satisfies BatchTask,
      files: new Map(),
      executionTimeoutS: ATTEMPT_S,
      maxAttempts: MAX_ATTEMPTS,
      alongside: (repositories, taskId) => repositories.batchesOf(caller.userId).insert(batch, taskId),
    });
    this.start();
    return (await this.#in(format, caller).find(id))!;
  }
}

function ended({ id, status }: ListedBatch): AanaError {
  return fail('BatchEnded', `the batch ${id} has ended (${status}) and cannot be cancelled`);
}
