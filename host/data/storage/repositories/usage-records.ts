import { loadStatements, Repository } from '../statements.ts';

const sql = loadStatements('usage-records', ['span', 'insert', 'claim', 'remove', 'giveBack']);

/** A record that a host sends. */
export interface ClaimedUsage {
  readonly seq: number;
  /** JSON. */
  readonly record: string;
}

/** Records of usage that another server has not taken yet. */
export class UsageRecordRepository extends Repository {
  /** Stores records, each once for its id. Returns false, with none stored, if `maxWaiting` records wait already. */
  async insert(records: readonly { readonly id: string }[], maxWaiting: number): Promise<boolean> {
    const [found] = await this.connection.query<{ span: number }>(sql.span, []);
    if (Number(found?.span ?? 0) + records.length > maxWaiting) return false;
    await this.connection.query(sql.insert, [JSON.stringify(records), this.connection.now()]);
    return true;
  }

  /** Claims the records that have waited longest. An expired lease counts as none. */
  async claim(owner: string, limit: number, leaseMs: number): Promise<ClaimedUsage[]> {
    const now = this.connection.now();
    const claimed = await this.connection.query<ClaimedUsage>(sql.claim, [now, owner, limit, now + leaseMs]);
    return [...claimed].sort((a, b) => Number(a.seq) - Number(b.seq));
  }

  /** Removes records that were taken. A record that another host has claimed since stays. */
  async remove(owner: string, seqs: readonly number[]): Promise<void> {
    await this.connection.query(sql.remove, [owner, JSON.stringify(seqs)]);
  }

  /** Gives back all records of `owner`, which are due after `delayMs`. */
  async giveBack(owner: string, delayMs: number): Promise<void> {
    await this.connection.query(sql.giveBack, [owner, this.connection.now() + delayMs]);
  }
}
