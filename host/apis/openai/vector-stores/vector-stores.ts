import { fail } from '../../../base/core/errors.ts';
import { timeOrderedId } from '../../../base/core/ids.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { Caller, ForCallers } from '../../../base/core/request-context.ts';
import type { ServedEndpoint } from '../../../endpoints/registry/index.ts';
import {
  type IdPage,
  type Metadata,
  type NewStoreFile,
  type NewVectorStore,
  pruneVectorStores,
  Pruner,
  type Repositories,
  type Storage,
  type StoredChunk,
  type StoreFileBatch,
  type StoreFilePage,
  type StoreFileRecord,
  type VectorStoreRecord,
} from '../../../data/storage/index.ts';
import type { TaskQueue } from '../../../data/tasks/index.ts';
import { isIdWith } from '../list-page.ts';
import type { IngestTask } from './ingest-task.ts';
import { requireStore } from './store-object.ts';

export interface VectorStoresOptions {
  readonly storage: Storage;
  /** The queue whose tasks read files. Undefined if it is off. */
  readonly tasks: TaskQueue | undefined;
  /** The work of their tasks. */
  readonly work: ServedEndpoint;
  /** The settings `openai.vector_stores`. */
  readonly config: { readonly maximum_stores_per_user: number; readonly maximum_files_per_store: number };
  readonly log: Logger;
}

/** Files that are to be read into a store. */
export interface FileOrder {
  readonly files: readonly NewStoreFile[];
  /** The deployments that the task may use; null for all. */
  readonly deployments: ReadonlySet<string> | null;
}

/** The vector stores of a caller. Those of other users are not found. */
export interface UserVectorStores {
  /**
   * Makes a store with these files. Throws `TooManyVectorStores`, `TooManyStoreFiles`, `RuntimeError` when there are
   * files and the task queue is off, and the errors of `UserTasks.enqueue`.
   */
  create(store: Omit<NewVectorStore, 'id' | 'created_at'>, order: FileOrder): Promise<VectorStoreRecord>;
  find(id: string): Promise<VectorStoreRecord | undefined>;
  list(page: IdPage): Promise<readonly VectorStoreRecord[]>;
  change(
    id: string,
    changes: Pick<NewVectorStore, 'name' | 'metadata' | 'expires_after_days'>,
  ): Promise<VectorStoreRecord | undefined>;
  /** Removes a store with its texts, but not the files that they were read from. Returns whether it existed. */
  delete(id: string): Promise<boolean>;
  /** Returns the id of the batch of the files. Throws like {@link create}, and `VectorStoreNotFound`. */
  addFiles(id: string, order: FileOrder): Promise<string>;
  /**
   * Makes the vectors of a store again with a model, unless another request has begun to. Throws `VectorStoreNotFound`.
   */
  renew(store: VectorStoreRecord, model: string, deployments: FileOrder['deployments']): Promise<void>;
  /** The store of the files must be one that {@link find} has found. So it is with what follows. */
  file(storeId: string, fileId: string): Promise<StoreFileRecord | undefined>;
  files(storeId: string, page: StoreFilePage): Promise<readonly StoreFileRecord[]>;
  describe(storeId: string, fileId: string, attributes: Metadata): Promise<void>;
  remove(storeId: string, fileId: string): Promise<boolean>;
  /** Returns all chunks of a file that are stored. */
  content(store: VectorStoreRecord, fileId: string): Promise<readonly StoredChunk[]>;
  batch(storeId: string, id: string): Promise<StoreFileBatch | undefined>;
  /** Ends the files of a batch that are in progress. */
  cancelBatch(storeId: string, id: string): Promise<void>;
}

/** The beginnings of ids. */
export const STORE_PREFIX = 'vs_';
const BATCH_PREFIX = 'vsfb_';
/** A run survives so many hosts that are lost while they read its files. */
const MAX_ATTEMPTS = 100;
/** The time limit of an attempt, in seconds. */
const ATTEMPT_S = 86_400;
/** A store that has expired is still shown for so long. */
const KEPT_MS = 86_400_000;
/** Chunks that are read at a time. */
const PAGE = 1000;

/** The vector stores of OpenAI's API. Tasks read their files. */
export class VectorStores implements ForCallers<UserVectorStores> {
  readonly #options: VectorStoresOptions;
  readonly #pruner: Pruner;

  constructor(options: VectorStoresOptions) {
    const { storage, log } = options;
    this.#options = options;
    this.#pruner = new Pruner({
      storage,
      log,
      what: 'vector stores',
      retentionMs: KEPT_MS,
      prune: ({ connection }, before, limit) => pruneVectorStores(connection, before, limit),
    });
  }

  /** Begins to remove expired stores. The first store does this, too. May be called twice. */
  start(): void {
    this.#pruner.start();
  }

  /** May be called twice. */
  stop(): Promise<void> {
    return this.#pruner.stop();
  }

  as(caller: Caller): UserVectorStores {
    const { userId, traceparent } = caller;
    const storage = this.#options.storage.inTrace(traceparent);
    const find = async (id: string): Promise<VectorStoreRecord | undefined> =>
      isIdWith(STORE_PREFIX, id)
        ? storage.read((repositories) => repositories.vectorStoresOf(userId).read(id))
        : undefined;
    const files = <T>(work: (files: ReturnType<Repositories['vectorStoreFilesOf']>) => Promise<T>): Promise<T> =>
      storage.read((repositories) => work(repositories.vectorStoreFilesOf(userId)));
    const change = <T>(work: (files: ReturnType<Repositories['vectorStoreFilesOf']>) => Promise<T>): Promise<T> =>
      storage.write((repositories) => work(repositories.vectorStoreFilesOf(userId)));
    return {
      find,
      create: (store, order) => this.#create(caller, store, order),
      list: (page) => storage.read((repositories) => repositories.vectorStoresOf(userId).list(page)),
      change: async (id, changes) => {
        if (isIdWith(STORE_PREFIX, id))
          await storage.write((repositories) => repositories.vectorStoresOf(userId).change(id, changes));
        return find(id);
      },
      delete: async (id) =>
        isIdWith(STORE_PREFIX, id) &&
        (await storage.write((repositories) => repositories.vectorStoresOf(userId).delete(id))),
      addFiles: (id, order) =>
        this.#run(caller, order.deployments, (repositories, runId, taskId) =>
          this.#add(repositories, userId, id, { runId, taskId }, order),
        ),
      renew: async (store, model, deployments) => {
        await this.#run(caller, deployments, async (repositories, runId, taskId) => {
          requireStore(store.id, await repositories.vectorStoreFilesOf(userId).addRun(runId, store.id, taskId));
          await repositories.vectorStoresOf(userId).renew(store, model, runId);
        });
      },
      file: (storeId, fileId) => files((all) => all.read(storeId, fileId)),
      files: (storeId, page) => files((all) => all.list(storeId, page)),
      describe: (storeId, fileId, attributes) => change((all) => all.setAttributes(storeId, fileId, attributes)),
      remove: (storeId, fileId) => change((all) => all.remove(storeId, fileId)),
      content: (store, fileId) =>
        files(async (all) => {
          const chunks: StoredChunk[] = [];
          for (const of of [store.generation, ...(store.source_generation === null ? [] : [store.source_generation])]) {
            for (let more = true; more;) {
              const page = await all.chunks(store, fileId, { of, from: chunks.length, limit: PAGE });
              chunks.push(...page);
              more = page.length === PAGE;
            }
          }
          return chunks;
        }),
      batch: async (storeId, id) => (isIdWith(BATCH_PREFIX, id) ? files((all) => all.batch(storeId, id)) : undefined),
      cancelBatch: (storeId, id) => change((all) => all.cancelBatch(storeId, id)),
    };
  }

  async #create(
    caller: Caller,
    given: Omit<NewVectorStore, 'id' | 'created_at'>,
    order: FileOrder,
  ): Promise<VectorStoreRecord> {
    const { storage, config } = this.#options;
    const { userId } = caller;
    const now = await storage.now();
    const id = STORE_PREFIX + timeOrderedId(now);
    const insert = (repositories: Repositories): Promise<void> =>
      repositories.vectorStoresOf(userId).insert({ ...given, id, created_at: now }, config.maximum_stores_per_user);
    if (order.files.length === 0) await storage.inTrace(caller.traceparent).write(insert);
    else
      await this.#run(caller, order.deployments, async (repositories, runId, taskId) => {
        await insert(repositories);
        await this.#add(repositories, userId, id, { runId, taskId }, order);
      });
    this.start();
    return requireStore(id, await this.as(caller).find(id));
  }

  async #add(
    repositories: Repositories,
    userId: string | null,
    storeId: string,
    { runId, taskId }: { readonly runId: string; readonly taskId: string },
    { files }: FileOrder,
  ): Promise<void> {
    const all = repositories.vectorStoreFilesOf(userId);
    requireStore(storeId, await all.addRun(runId, storeId, taskId));
    await all.add(runId, storeId, files, this.#options.config.maximum_files_per_store);
  }

  /** Stores a run with its task. Returns its id. */
  async #run(
    caller: Caller,
    deployments: FileOrder['deployments'],
    alongside: (repositories: Repositories, runId: string, taskId: string) => Promise<void>,
  ): Promise<string> {
    const { storage, tasks, work } = this.#options;
    if (!tasks) throw fail('RuntimeError', 'Files are read into vector stores by tasks, but the task queue is off.');
    const runId = BATCH_PREFIX + timeOrderedId(await storage.now());
    await tasks.as(caller).enqueue(work, {
      input: { run_id: runId, deployments: deployments && [...deployments] } satisfies IngestTask,
      files: new Map(),
      executionTimeoutS: ATTEMPT_S,
      maxAttempts: MAX_ATTEMPTS,
      alongside: (repositories, taskId) => alongside(repositories, runId, taskId),
    });
    return runId;
  }
}
