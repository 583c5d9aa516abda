import { fail } from '../../../../base/core/errors.ts';
import type { Connection } from '../../database.ts';
import { CallerRepository, loadStatements } from '../../statements.ts';
import type { VectorRepository } from '../vectors/vector-repository.ts';
import { collectionOf, collectionsOf, removeTexts, storeTexts, type VectorStoreRow } from './store-texts.ts';
import type { VectorStoreFileStatus } from './vector-store-files.ts';

const sql = loadStatements('vector-stores', [
  'insert',
  'number',
  'read',
  'newest',
  'oldest',
  'change',
  'touch',
  'lock',
  'remove',
  'expired',
  'renew',
  'unread',
  'renewFiles',
  'endRenewal',
  'counts',
]);

/** A vector store before its first file. */
export type NewVectorStore = Pick<
  VectorStoreRow,
  'id' | 'name' | 'metadata' | 'model' | 'expires_after_days' | 'created_at'
>;

/** How many files there are of each status. */
export type FileCounts = Readonly<Record<VectorStoreFileStatus, number>>;

export interface VectorStoreRecord extends VectorStoreRow {
  readonly counts: FileCounts;
  /** Of the texts of its files with their vectors. */
  readonly usage_bytes: number;
  readonly isExpired: boolean;
  /** Whether another model may make its vectors: its model has not changed in the last minutes. */
  readonly isSettled: boolean;
}

/** A page in the order of ids. The items of `after` and `before` may be gone. */
export interface IdPage {
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
}

/** Comes behind every character of an id. */
const BEHIND = '~';
/** The use of a store is noted again after this time. */
const TOUCH_EVERY_MS = 60_000;
/** Hosts with different models take the vectors of a store from each other once in this time, not all the time. */
const SETTLED_AFTER_MS = 600_000;

/** Returns the ids between which a page in the order of ids lies. */
export function boundsOf({ after, before, order }: IdPage): readonly [above: string, below: string] {
  return order === 'asc' ? [after ?? '', before ?? BEHIND] : [before ?? '', after ?? BEHIND];
}

/** Returns rows with a status and a number as one record. */
export function countsOf(
  rows: readonly { readonly state: VectorStoreFileStatus; readonly files: number }[],
): FileCounts {
  return {
    ...{ in_progress: 0, completed: 0, failed: 0, cancelled: 0 },
    ...Object.fromEntries(rows.map(({ state, files }) => [state, files])),
  };
}

/** The vector stores of a user, or of all callers where the host requires no keys (null). */
export class VectorStoreRepository extends CallerRepository {
  /** The collections with the texts of the stores. */
  readonly texts: VectorRepository;

  constructor(connection: Connection, userId: string | null) {
    super(connection, userId);
    this.texts = storeTexts(connection, this.owner);
  }

  /** Throws `TooManyVectorStores` if the user then has more than `maxStores`. */
  async insert(store: NewVectorStore, maxStores: number): Promise<void> {
    const { id, name, metadata, model, expires_after_days: days, created_at: now } = store;
    await this.connection.query(sql.insert, [id, this.owner, name, metadata, model, days, now]);
    const [{ number = 0 } = {}] = await this.connection.query<{ number: number }>(sql.number, [this.owner]);
    if (number > maxStores)
      throw fail(
        'TooManyVectorStores',
        `a user has at most ${maxStores} vector stores (openai.vector_stores.maximum_stores_per_user); delete some`,
        { data: { limit: maxStores } },
      );
  }

  async read(id: string): Promise<VectorStoreRecord | undefined> {
    return (await this.#counted(await this.connection.query<VectorStoreRow>(sql.read, [id, this.owner])))[0];
  }

  async list(page: IdPage): Promise<VectorStoreRecord[]> {
    const statement = page.order === 'asc' ? sql.oldest : sql.newest;
    const rows = await this.connection.query<VectorStoreRow>(statement, [this.owner, ...boundsOf(page), page.limit]);
    return this.#counted(rows);
  }

  /** Changes a store, which counts as a use. Does nothing if it does not exist. */
  async change(
    id: string,
    { name, metadata, expires_after_days: days }: Pick<VectorStoreRow, 'name' | 'metadata' | 'expires_after_days'>,
  ): Promise<void> {
    await this.connection.query(sql.change, [id, this.owner, name, metadata, days, this.connection.now()]);
  }

  /** Notes a use of a store. */
  async touch(id: string): Promise<void> {
    const now = this.connection.now();
    await this.connection.query(sql.touch, [id, this.owner, now, now - TOUCH_EVERY_MS]);
  }

  /** Returns whether the use of a store is due to be noted. */
  isTouchDue({ last_active_at: last }: VectorStoreRow): boolean {
    return last < this.connection.now() - TOUCH_EVERY_MS;
  }

  /** Removes a store with its texts. Returns whether it existed. */
  async delete(id: string): Promise<boolean> {
    const [removed] = await this.connection.query<VectorStoreRow>(sql.remove, [id, this.owner]);
    for (const name of removed ? collectionsOf(removed) : []) await this.texts.delete(name);
    return removed !== undefined;
  }

  /**
   * Notes that another model makes the vectors of a store: its files are in progress again, and the run with this id
   * makes their vectors from the texts that are stored. Returns false if another transaction has done so already.
   */
  async renew(store: VectorStoreRow, model: string, runId: string): Promise<boolean> {
    const values = [store.id, this.owner, store.generation, model, this.connection.now()];
    const [renewed] = await this.connection.query<VectorStoreRow>(sql.renew, values);
    if (!renewed) return false;
    if (renewed.source_generation === store.generation) {
      // Only the texts of whole files are a source.
      const unread = await this.connection.query<{ file_id: string }>(sql.unread, [store.id]);
      for (const { file_id: file } of unread) await removeTexts(this.texts, store, file);
    } else await this.texts.delete(collectionOf(store)); // the renewal before was not at its end
    await this.connection.query(sql.renewFiles, [store.id, runId]);
    await this.endRenewal(store.id); // if there are no files
    return true;
  }

  /** Removes the texts of a generation before, if all files have new vectors. */
  async endRenewal(id: string): Promise<void> {
    const [store] = await this.connection.query<VectorStoreRow>(sql.lock, [id, this.owner]);
    if (store?.source_generation == null) return;
    const ended = await this.connection.query(sql.endRenewal, [id, this.owner]);
    if (ended.length > 0) await this.texts.delete(collectionOf(store, store.source_generation));
  }

  async #counted(stores: readonly VectorStoreRow[]): Promise<VectorStoreRecord[]> {
    const ids = JSON.stringify(stores.map(({ id }) => id));
    const rows = await this.connection.query<CountRow>(sql.counts, [ids]);
    const now = this.connection.now();
    return stores.map((store) => {
      const own = rows.filter(({ id }) => id === store.id);
      return {
        ...store,
        counts: countsOf(own),
        usage_bytes: own.reduce((sum, { bytes }) => sum + bytes, 0),
        isExpired: store.expires_at !== null && store.expires_at <= now,
        isSettled: store.renewed_at === null || store.renewed_at <= now - SETTLED_AFTER_MS,
      };
    });
  }
}

interface CountRow {
  readonly id: string;
  readonly state: VectorStoreFileStatus;
  readonly files: number;
  readonly bytes: number;
}

/** Removes at most `limit` stores of all users that expired before `before`. Returns their number. */
export async function pruneVectorStores(connection: Connection, before: number, limit: number): Promise<number> {
  const rows = await connection.query<{ id: string; owner: string }>(sql.expired, [before, limit]);
  for (const { id, owner } of rows) await new VectorStoreRepository(connection, owner || null).delete(id);
  return rows.length;
}
