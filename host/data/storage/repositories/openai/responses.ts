import { type AanaError, fail } from '../../../../base/core/errors.ts';
import type { Connection } from '../../database.ts';
import { CallerRepository, loadStatements } from '../../statements.ts';
import { hasEnded, type TaskStatus } from '../../task-state.ts';
import { foldKept, sumOfKept } from '../kept-bytes.ts';

const sql = loadStatements('responses', [
  'insert',
  'insertItem',
  'read',
  'items',
  'chain',
  'chainItems',
  'touch',
  'findItem',
  'remove',
  'prune',
  'evict',
  'sum',
  'take',
  'add',
  'complete',
  'countItems',
]);

/** An item of a response: its id, and its JSON. */
export interface StoredItem {
  readonly id: string;
  readonly json: string;
}

/** A response of OpenAI's API as it is stored. */
export interface NewResponse {
  readonly id: string;
  /** The response that it continues. */
  readonly previousId: string | null;
  /** The JSON of the response without its output. */
  readonly body: string;
  readonly input: readonly StoredItem[];
  readonly output: readonly StoredItem[];
}

/** The statuses of a response that a task makes. */
export type RunStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';

/** A stored response. The items are JSON. */
export interface ResponseRecord {
  readonly body: string;
  readonly output: readonly string[];
  /** The status of a response that a task makes, or has made. */
  readonly status?: RunStatus;
}

/** The answer to a response that was stored without one. */
export interface NewAnswer {
  /** The JSON of the response without its output. */
  readonly body: string;
  readonly output: readonly StoredItem[];
  /** Bytes of its stored events. */
  readonly eventBytes: number;
}

/** A response in a chain of responses, each of which continues the next one. */
export interface ChainLink {
  readonly id: string;
  readonly previousId: string | null;
  /** Bytes of the JSON of the response and of its items. */
  readonly bytes: number;
  /** The status of a response that a task makes, or has made. */
  readonly status: RunStatus | null;
}

/** Most responses in a chain. */
const MAX_CHAIN = 10_000;
/** The part of its limit that a user keeps who was over it, so that not every further response removes others. */
const KEPT_PART = 0.9;

/** The responses of a user, or of all callers where the host requires no keys (null). */
export class ResponseRepository extends CallerRepository {
  /**
   * Stores a response. If the user then keeps more than `maxBytes`, those that were not used for longest are removed,
   * but none that a task makes. Throws `StorageFull` for a response that is larger than `maxBytes`, or for which those
   * leave no room.
   */
  async save(
    { id, previousId, body, input, output }: NewResponse,
    maxBytes: number = Number.MAX_SAFE_INTEGER,
  ): Promise<void> {
    const items = [
      ...input.map((item) => ({ ...item, source: 'input' })),
      ...output.map((item) => ({ ...item, source: 'output' })),
    ];
    const bytes = bytesOf(items) + Buffer.byteLength(body);
    if (bytes > maxBytes) throw tooLarge(bytes, maxBytes);
    const now = this.connection.now();
    await Promise.all([
      this.connection.query(sql.insert, [id, this.owner, previousId, body, bytes, now]),
      ...items.map((item, position) =>
        this.connection.query(sql.insertItem, [id, position, item.source, this.owner, item.id, item.json]),
      ),
      previousId === null ? undefined : this.connection.query(sql.touch, [previousId, this.owner, MAX_CHAIN, now]),
    ]);
    if ((await this.#keepWithin(maxBytes, id, bytes)) > maxBytes) throw full(maxBytes);
  }

  /** Adds the answer to a response that was stored without one. The user may then keep more than `maxBytes`. */
  async complete(
    id: string,
    { body, output, eventBytes }: NewAnswer,
    maxBytes: number = Number.MAX_SAFE_INTEGER,
  ): Promise<void> {
    const [[before], [counted]] = await Promise.all([
      this.connection.query<{ body: string }>(sql.read, [id, this.owner]),
      this.connection.query<{ items: number }>(sql.countItems, [id]),
    ]);
    if (!before) return;
    const added = bytesOf(output) + Buffer.byteLength(body) - Buffer.byteLength(before.body) + eventBytes;
    await Promise.all([
      this.connection.query(sql.complete, [id, this.owner, body, added, eventBytes]),
      ...output.map((item, index) =>
        this.connection.query(sql.insertItem, [
          id,
          (counted?.items ?? 0) + index,
          'output',
          this.owner,
          item.id,
          item.json,
        ]),
      ),
    ]);
    await this.#keepWithin(maxBytes, id, added);
  }

  /** Removes responses of a user over the limit, but not the new one. Returns the bytes that the user then keeps. */
  async #keepWithin(maxBytes: number, id: string, newBytes: number): Promise<number> {
    let kept = await sumOfKept(this.connection, sql, this.owner);
    if (kept.bytes > maxBytes) {
      const most = Math.max(newBytes, Math.floor(maxBytes * KEPT_PART));
      await this.connection.query(sql.evict, [this.owner, most, id]);
      kept = await sumOfKept(this.connection, sql, this.owner);
    }
    await foldKept(this.connection, sql, this.owner, kept);
    return kept.bytes;
  }

  async read(id: string): Promise<ResponseRecord | undefined> {
    const [[row], output] = await Promise.all([
      this.connection.query<ResponseRow>(sql.read, [id, this.owner]),
      this.#items(id, 'output'),
    ]);
    if (!row) return undefined;
    const { body, status, task_status: task } = row;
    return { body, output, ...(status && { status: runStatusOf(status, task) }) };
  }

  /** Returns the JSON of the items that a response was given, in order; undefined if there is no such response. */
  async input(id: string): Promise<readonly string[] | undefined> {
    const [rows, input] = await Promise.all([
      this.connection.query(sql.read, [id, this.owner]),
      this.#items(id, 'input'),
    ]);
    return rows.length === 0 ? undefined : input;
  }

  /**
   * Returns a response and those that it continues, the newest first. A chain whose last link continues another
   * response is not whole: that one was removed.
   */
  async chain(id: string): Promise<readonly ChainLink[]> {
    const rows = await this.connection.query<Omit<ChainLink, 'previousId'> & { previous_id: string | null }>(
      sql.chain,
      [id, this.owner, MAX_CHAIN],
    );
    return rows.map(({ previous_id: previousId, ...link }) => ({ ...link, previousId }));
  }

  /** Returns the JSON of all items of a response and of those that it continues, the oldest first. */
  async chainItems(id: string): Promise<readonly string[]> {
    return this.#texts(sql.chainItems, [id, this.owner, MAX_CHAIN]);
  }

  /** Returns the JSON of the newest item with this id. */
  async findItem(itemId: string): Promise<string | undefined> {
    return (await this.#texts(sql.findItem, [this.owner, itemId]))[0];
  }

  /** Removes a response with its items. Returns whether it existed. */
  async delete(id: string): Promise<boolean> {
    return (await this.connection.query(sql.remove, [id, this.owner])).length > 0;
  }

  #items(id: string, source: 'input' | 'output'): Promise<readonly string[]> {
    return this.#texts(sql.items, [id, this.owner, source]);
  }

  async #texts(
    statement: (typeof sql)[keyof typeof sql],
    values: readonly (string | number)[],
  ): Promise<readonly string[]> {
    return (await this.connection.query<{ item: string }>(statement, values)).map(({ item }) => item);
  }
}

/**
 * Removes at most `limit` responses of all users that were not used since `before`. Returns their number. A response is
 * used when one that continues it is stored, so a chain is removed as a whole.
 */
export async function pruneResponses(connection: Connection, before: number, limit: number): Promise<number> {
  return (await connection.query(sql.prune, [before, limit])).length;
}

type ResponseRow = {
  readonly body: string;
  readonly status: RunStatus | null;
  readonly task_status: TaskStatus | null;
};

/** Returns the status of a response, which is over when its task has ended without it. */
export function runStatusOf(stored: RunStatus, task: TaskStatus | null): RunStatus {
  const isOver = (stored === 'queued' || stored === 'in_progress') && (task === null || hasEnded(task));
  if (!isOver) return stored;
  return task === 'cancelled' ? 'cancelled' : 'failed';
}

const bytesOf = (items: readonly StoredItem[]): number =>
  items.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);

function full(maxBytes: number): AanaError {
  return fail(
    'StorageFull',
    `the responses of this user that wait or run leave no room under ${maxBytes} bytes ` +
      `(openai.responses.maximum_stored_bytes_per_user); try again when some of them have ended`,
    { data: { limit: maxBytes } },
  );
}

function tooLarge(bytes: number, maxBytes: number): AanaError {
  return fail(
    'StorageFull',
    `the response has ${bytes} bytes with its input, but a user may keep at most ${maxBytes} ` +
      `(openai.responses.maximum_stored_bytes_per_user); send "store": false`,
    { data: { limit: maxBytes } },
  );
}
