import { AanaError } from '../../../core/errors.ts';
import type { Connection } from '../../database.ts';
import { loadStatements } from '../../statements.ts';
import { foldKept, sumOfKept } from '../kept-bytes.ts';

const sql = loadStatements('responses', [
  'insert', 'insertItem', 'read', 'items', 'chain', 'chainItems', 'touch', 'findItem', 'remove', 'prune', 'evict', 'sum', 'take', 'add',
]); // prettier-ignore

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

/** A stored response. The items are JSON. */
export interface ResponseRecord {
  readonly body: string;
  readonly output: readonly string[];
}

/** A response in a chain of responses, each of which continues the next one. */
export interface ChainLink {
  readonly id: string;
  readonly previousId: string | null;
  /** Bytes of the JSON of the response and of its items. */
  readonly bytes: number;
}

/** The owner where the host requires no keys. */
const NOBODY = '';
/** Most responses in a chain. */
const MAX_CHAIN = 10_000;
/** The part of its limit that a user keeps who was over it, so that not every further response removes others. */
const KEPT_PART = 0.9;

/** The responses of a user, or of all callers where the host requires no keys (null). */
export class ResponseRepository {
  readonly #connection: Connection;
  readonly #owner: string;

  constructor(connection: Connection, userId: string | null) {
    this.#connection = connection;
    this.#owner = userId ?? NOBODY;
  }

  /**
   * Stores a response. If the user then keeps more than `maxBytes`, those that were not used for longest are removed.
   * Throws `StorageFull` for a response that is larger than `maxBytes`.
   */
  async save(
    { id, previousId, body, input, output }: NewResponse,
    maxBytes: number = Number.MAX_SAFE_INTEGER,
  ): Promise<void> {
    const items = [
      ...input.map((item) => ({ ...item, source: 'input' })),
      ...output.map((item) => ({ ...item, source: 'output' })),
    ];
    const bytes = items.reduce((sum, item) => sum + Buffer.byteLength(item.json), Buffer.byteLength(body));
    if (bytes > maxBytes) throw tooLarge(bytes, maxBytes);
    const now = this.#connection.now();
    await Promise.all([
      this.#connection.query(sql.insert, [id, this.#owner, previousId, body, bytes, now]),
      ...items.map((item, position) =>
        this.#connection.query(sql.insertItem, [id, position, item.source, this.#owner, item.id, item.json]),
      ),
      previousId === null ? undefined : this.#connection.query(sql.touch, [previousId, this.#owner, MAX_CHAIN, now]),
    ]);
    const kept = await sumOfKept(this.#connection, sql, this.#owner);
    if (kept.bytes > maxBytes)
      await this.#connection.query(sql.evict, [this.#owner, Math.max(bytes, Math.floor(maxBytes * KEPT_PART))]);
    await foldKept(this.#connection, sql, this.#owner, kept);
  }

  async read(id: string): Promise<ResponseRecord | undefined> {
    const [rows, output] = await Promise.all([
      this.#connection.query<{ body: string }>(sql.read, [id, this.#owner]),
      this.#items(id, 'output'),
    ]);
    return rows[0] && { body: rows[0].body, output };
  }

  /** Returns the JSON of the items that a response was given, in order; undefined if there is no such response. */
  async input(id: string): Promise<readonly string[] | undefined> {
    const [rows, input] = await Promise.all([
      this.#connection.query(sql.read, [id, this.#owner]),
      this.#items(id, 'input'),
    ]);
    return rows.length === 0 ? undefined : input;
  }

  /**
   * Returns a response and those that it continues, the newest first. A chain whose last link continues another response
   * is not whole: that one was removed.
   */
  async chain(id: string): Promise<readonly ChainLink[]> {
    const rows = await this.#connection.query<{ id: string; previous_id: string | null; bytes: number }>(sql.chain, [
      id,
      this.#owner,
      MAX_CHAIN,
    ]);
    return rows.map(({ id: link, previous_id: previousId, bytes }) => ({ id: link, previousId, bytes }));
  }

  /** Returns the JSON of all items of a response and of those that it continues, the oldest first. */
  async chainItems(id: string): Promise<readonly string[]> {
    return this.#texts(sql.chainItems, [id, this.#owner, MAX_CHAIN]);
  }

  /** Returns the JSON of the newest item with this id. */
  async findItem(itemId: string): Promise<string | undefined> {
    return (await this.#texts(sql.findItem, [this.#owner, itemId]))[0];
  }

  /** Removes a response with its items. Returns whether it existed. */
  async delete(id: string): Promise<boolean> {
    return (await this.#connection.query(sql.remove, [id, this.#owner])).length > 0;
  }

  #items(id: string, source: 'input' | 'output'): Promise<readonly string[]> {
    return this.#texts(sql.items, [id, this.#owner, source]);
  }

  async #texts(
    statement: (typeof sql)[keyof typeof sql],
    values: readonly (string | number)[],
  ): Promise<readonly string[]> {
    return (await this.#connection.query<{ item: string }>(statement, values)).map(({ item }) => item);
  }
}

/**
 * Removes at most `limit` responses of all users that were not used since `before`. Returns their number. A response is
 * used when one that continues it is stored, so a chain is removed as a whole.
 */
export async function pruneResponses(connection: Connection, before: number, limit: number): Promise<number> {
  return (await connection.query(sql.prune, [before, limit])).length;
}

function tooLarge(bytes: number, maxBytes: number): AanaError {
  return new AanaError(
    'StorageFull',
    'too-large',
    `the response has ${bytes} bytes with its input, but a user may keep at most ${maxBytes} (openai.responses.maximum_stored_bytes_per_user); send "store": false`,
    { data: { limit: maxBytes } },
  );
}
