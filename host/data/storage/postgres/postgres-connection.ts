import type { Client, QueryConfig, QueryResult, QueryResultRow } from 'pg';
import { AanaError } from '../../../base/core/errors.ts';
import type { Connection, Row, Statement, Value } from '../database.ts';
import { databaseError, UnknownOutcomeError } from '../errors.ts';
import { lend } from '../lent-connection.ts';
import type { FoundCollections } from '../repositories/vectors/found-collections.ts';
import { type Failure, failureOf, isUndecided } from './postgres-errors.ts';
import { PreparedStatements } from './prepared-statements.ts';

export interface ConnectionOptions {
  readonly client: Client;
  /** The address for messages. */
  readonly address: string;
  readonly now: () => number;
  /** The time for the answer to a statement; 0 is no limit. */
  readonly answerTimeoutMs: number;
  /** The time for the answer to `begin`, which a reachable server sends at once. */
  readonly beginTimeoutMs: number;
  readonly foundCollections: FoundCollections;
  /** Called with each notification for this process when its transaction is committed. */
  readonly tellHere: (message: string) => void;
}

export const CHANNEL = 'aana_host';
const NOTIFY: Statement = {
  sqlite: '',
  postgresql: 'select pg_notify($1, message) from json_array_elements_text(cast($2 as json)) as message',
};

/** A search in an index considers 100 candidates, and goes on if a filter leaves too few of them. */
const VECTOR_SETTINGS = 'set hnsw.ef_search = 100; set hnsw.iterative_scan = relaxed_order';
/** The connections that have these settings. */
const forVectors = new WeakSet<Client>();

/** A statement with a time limit in the client, because a lost server or network ends no statement. */
interface TimedQuery extends QueryConfig {
  readonly query_timeout: number;
}

/**
 * A connection to PostgreSQL while it is lent. Statements are sent at once, without waiting for the answers to earlier
 * ones.
 */
export class PostgresConnection implements Connection {
  readonly dialect = 'postgresql';
  readonly now: () => number;
  readonly #options: ConnectionOptions;
  readonly #prepared: PreparedStatements;
  readonly #notifications = new Set<string>();
  readonly #notificationsHere = new Set<string>();
  #answerTimeoutMs: number;
  #lost: Error | undefined;
  #isReadOnly = false;
  #isInTransaction = false;
  /** The first failure of the transaction. */
  #failed: AanaError | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#prepared = PreparedStatements.of(options.client);
    this.now = options.now;
    this.#answerTimeoutMs = options.answerTimeoutMs;
  }

  /** The reason why the connection must not be used again; undefined while it may be. */
  get lost(): Error | undefined {
    return this.#lost;
  }

  /** Whether the server has refused a write because it is read-only. */
  get isReadOnly(): boolean {
    return this.#isReadOnly;
  }

  readonly lose = (error: Error): void => {
    this.#lost ??= error;
  };

  async query<R extends object = Row>(statement: Statement | string, values: readonly Value[] = []): Promise<R[]> {
    const given = values.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value));
    const prepared =
      typeof statement === 'string'
        ? { text: statement }
        : { text: statement.postgresql, name: this.#prepared.use(statement.postgresql) };
    const sent = this.#send<R & QueryResultRow>({ ...prepared, values: given }, this.#answerTimeoutMs);
    // A transaction that has failed forgets nothing.
    const forgotten = this.#isInTransaction ? undefined : this.#prepared.forgetOne();
    if (forgotten !== undefined) this.script(forgotten).catch(() => {}); // it was refused, or the connection is lost
    return (await sent).rows;
  }

  async script(sql: string): Promise<void> {
    await this.#send({ text: sql }, this.#answerTimeoutMs);
  }

  async notify(message: string): Promise<void> {
    this.#notifications.add(message);
  }

  async notifyHere(message: string): Promise<void> {
    this.#notificationsHere.add(message);
  }

  readonly keptVectors = undefined;

  get foundCollections(): FoundCollections | undefined {
    return this.#isInTransaction ? undefined : this.#options.foundCollections;
  }

  async loadVectors(): Promise<void> {
    const { client } = this.#options;
    if (forVectors.has(client)) return;
    forVectors.add(client); // statements on a connection run in their order
    await this.script(VECTOR_SETTINGS).catch((error: unknown) => {
      forVectors.delete(client);
      throw error;
    });
  }

  /**
   * Runs `work` in a transaction. Throws {@link UnknownOutcomeError} when the connection is lost while it is committed.
   * @param isUnlimited whether statements may take any time
   */
  async transaction<T>(work: (connection: Connection) => Promise<T>, isUnlimited: boolean): Promise<T> {
    this.#notifications.clear();
    this.#notificationsHere.clear();
    this.#failed = undefined;
    this.#isInTransaction = true;
    this.#answerTimeoutMs = isUnlimited ? 0 : this.#options.answerTimeoutMs;
    const begun = this.#send({ text: 'begin' }, this.#options.beginTimeoutMs);
    try {
      const limit = isUnlimited
        ? this.script('set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0')
        : undefined;
      const [result] = await Promise.all([lend(this, work), begun, limit]);
      await this.#commit();
      for (const message of this.#notificationsHere) this.#options.tellHere(message);
      return result;
    } catch (error) {
      forVectors.delete(this.#options.client); // a rollback takes settings back
      if (!this.#lost) await this.#send({ text: 'rollback' }, this.#options.beginTimeoutMs).catch(this.lose);
      throw error;
    } finally {
      this.#isInTransaction = false;
      this.#answerTimeoutMs = this.#options.answerTimeoutMs;
    }
  }

  /** Ends the transaction, with its notifications. */
  async #commit(): Promise<void> {
    const { address } = this.#options;
    if (this.#lost) throw failureOf(this.#lost, address).error; // COMMIT was never sent
    const told =
      this.#notifications.size === 0
        ? undefined
        : this.query(NOTIFY, [CHANNEL, JSON.stringify([...this.#notifications])]);
    try {
      const [{ command }] = await Promise.all([this.#sendCommit(), told]);
      if (command !== 'COMMIT')
        throw this.#failed ?? databaseError('DatabaseFault', `the database ${address} rolled back`);
    } catch (error) {
      const cause = error instanceof AanaError ? error.cause : error;
      if (cause !== undefined && isUndecided(cause))
        throw new UnknownOutcomeError(
          `the database ${address}: the connection was lost during a commit; it is unknown whether the transaction ` +
            `was committed`,
          error,
        );
      throw error;
    }
  }

  #sendCommit(): Promise<QueryResult> {
    return this.#send({ text: 'commit' }, this.#answerTimeoutMs);
  }

  async #send<R extends QueryResultRow>(query: QueryConfig, timeoutMs: number): Promise<QueryResult<R>> {
    const timed: TimedQuery = { ...query, query_timeout: timeoutMs };
    try {
      return await this.#options.client.query<R>(timed);
    } catch (error) {
      throw this.#note(failureOf(error, this.#options.address), error);
    }
  }

  /**
   * Returns the error for the caller. After a failure the server refuses all other statements of the transaction, and
   * the caller may hear of them first, because their promises pass through fewer others: each fails as the first did.
   */
  #note(failure: Failure, error: unknown): AanaError {
    if (failure.isLost) this.lose(error instanceof Error ? error : failure.error);
    if (failure.isReadOnly) this.#isReadOnly = true;
    if (failure.isConsequence && this.#failed) return this.#failed;
    return (this.#failed = failure.error);
  }
}
