import { loadStatements, Repository } from '../../statements.ts';
import type { BatchRecord, BatchStatus } from './batches.ts';

const sql = loadStatements('batch-runs', [
  'begin',
  'read',
  'start',
  'answer',
  'count',
  'answeredLines',
  'answers',
  'finalize',
  'finish',
  'removeAnswers',
]);

/** Limits of the answers that are read at a time. */
const PAGE_ANSWERS = 500;
const PAGE_CHARACTERS = 4 * 2 ** 20;

/** An attempt at a batch. A later attempt at the batch makes its writes fail. */
export type BatchLease = Pick<BatchRecord, 'id' | 'attempt'>;

/** The files of a batch. */
export type BatchFile = 'output' | 'error';

/** The answer to one line of the input. */
export interface BatchAnswer {
  /** The number of the line in the input, counted from 1. */
  readonly line: number;
  readonly file: BatchFile;
  /** What the request counts as. One that nothing worked on can count as neither. */
  readonly outcome: 'completed' | 'failed' | 'unanswered';
  /** The line of the file, as JSON. */
  readonly json: string;
  readonly usage: BatchTokens;
}

/** How many tokens an answer took. */
export type BatchTokens = Readonly<
  Record<'input_tokens' | 'cached_tokens' | 'output_tokens' | 'reasoning_tokens', number>
>;

/** How a batch ended. */
export interface BatchEnd {
  readonly status: Extract<BatchStatus, 'completed' | 'failed' | 'expired' | 'cancelled'>;
  readonly outputFileId?: string | undefined;
  readonly errorFileId?: string | undefined;
  /** JSON. */
  readonly errors?: string | undefined;
}

/** The writes of attempts at batches, of all users. Writes of an attempt that is not the latest one do nothing. */
export class BatchRunRepository extends Repository {
  /** Begins an attempt; undefined if there is no such batch. */
  async begin(id: string): Promise<BatchRecord | undefined> {
    return (await this.connection.query<BatchRecord>(sql.begin, [id]))[0];
  }

  /** Returns the batch; undefined if another attempt has begun or the batch is gone. */
  async read({ id, attempt }: BatchLease): Promise<BatchRecord | undefined> {
    return (await this.connection.query<BatchRecord>(sql.read, [id, attempt]))[0];
  }

  /** Stores that the input is valid. */
  async start({ id, attempt }: BatchLease, total: number, model: string | null): Promise<void> {
    await this.connection.query(sql.start, [id, attempt, this.connection.now(), total, model]);
  }

  /**
   * Stores the answer to a line. An answer that is stored again, after an unknown commit, counts once. Returns false
   * when another attempt has begun.
   */
  async answer(lease: BatchLease, { line, file, outcome, json, usage }: BatchAnswer): Promise<boolean> {
    const { id, attempt } = lease;
    const stored = await this.connection.query(sql.answer, [id, attempt, line, file, json]);
    if (stored.length === 0) return (await this.read(lease)) !== undefined;
    await this.connection.query(sql.count, [
      id,
      outcome === 'completed' ? 1 : 0,
      outcome === 'failed' ? 1 : 0,
      usage.input_tokens,
      usage.cached_tokens,
      usage.output_tokens,
      usage.reasoning_tokens,
    ]);
    return true;
  }

  /** Returns the numbers of the lines that have an answer. */
  async answeredLines(id: string): Promise<ReadonlySet<number>> {
    const rows = await this.connection.query<{ line: number }>(sql.answeredLines, [id]);
    return new Set(rows.map(({ line }) => line));
  }

  /**
   * Returns answers for a file in the order of their lines: at least one while there are more after the line `after`,
   * and a limited number and length.
   */
  answers(id: string, file: BatchFile, after: number): Promise<{ readonly line: number; readonly answer: string }[]> {
    return this.connection.query(sql.answers, [id, file, after, PAGE_ANSWERS, PAGE_CHARACTERS]);
  }

  /** Stores that every line has its answer. Does nothing for a batch that is being cancelled. */
  async finalize({ id, attempt }: BatchLease): Promise<void> {
    await this.connection.query(sql.finalize, [id, attempt, this.connection.now()]);
  }

  /** Ends a batch and removes its answers, which its files have. Returns false when another attempt has begun. */
  async finish({ id, attempt }: BatchLease, end: BatchEnd): Promise<boolean> {
    const { status, outputFileId = null, errorFileId = null, errors = null } = end;
    const values = [id, attempt, status, this.connection.now(), outputFileId, errorFileId, errors];
    if ((await this.connection.query(sql.finish, values)).length === 0) return false;
    await this.connection.query(sql.removeAnswers, [id]);
    return true;
  }
}
