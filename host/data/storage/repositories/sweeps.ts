import { loadStatements, Repository } from '../statements.ts';

const sql = loadStatements('sweeps', ['claim', 'release']);

/** Repeated work that one host of all does at a time. */
export class SweepRepository extends Repository {
  /**
   * Takes a sweep for this host. Returns the time at which it begins, in milliseconds since 1970; undefined if a host
   * has begun it in the last `everyMs`. The clock of that host may be ahead by as much.
   */
  async claim(name: string, everyMs: number): Promise<number | undefined> {
    const now = this.connection.now();
    const claimed = await this.connection.query(sql.claim, [name, now, now - everyMs, now + everyMs]);
    return claimed.length > 0 ? now : undefined;
  }

  /** Leaves a sweep that began at `begunAt` and failed to the next host that wants it. */
  async release(name: string, begunAt: number): Promise<void> {
    await this.connection.query(sql.release, [name, begunAt]);
  }
}
