import { loadStatements, Repository } from '../statements.ts';

const sql = loadStatements('rate-buckets', ['take', 'prune']);

interface Row {
  readonly key: string;
  readonly lacking: number;
  readonly step_ms: number;
}

/** Requests that were taken from a bucket of a rate limit. */
export interface RateSpending {
  readonly key: string;
  /** Negative when more were given back than taken. */
  readonly count: number;
  /** Milliseconds in which the bucket regains one request. */
  readonly stepMs: number;
}

/** What callers have used of limits of rates, on all hosts. */
export class RateBucketRepository extends Repository {
  /** Takes requests from buckets, each of which is named once. Returns what each of them lacks then, as `count`. */
  async take(taken: readonly RateSpending[]): Promise<RateSpending[]> {
    const ordered = taken.toSorted((a, b) => (a.key < b.key ? -1 : 1));
    const rows = await this.connection.query<Row>(sql.take, [JSON.stringify(ordered)]);
    return rows.map(({ key, lacking, step_ms: stepMs }) => ({ key, count: Math.max(0, lacking), stepMs }));
  }

  /** Removes at most `limit` buckets that lack nothing since `before`. Returns their number. */
  async prune(before: number, limit: number): Promise<number> {
    return (await this.connection.query(sql.prune, [before, limit])).length;
  }
}
