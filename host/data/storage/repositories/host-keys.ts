import { loadStatements, Repository } from '../statements.ts';

const sql = loadStatements('host-keys', ['read', 'insert']);

/** Random keys that all hosts of the database share. */
export class HostKeyRepository extends Repository {
  /** Returns the key with a name. If there is none, `fresh` becomes it; of hosts that do so at once, one wins. */
  async readOrInsert(name: string, fresh: Buffer): Promise<Buffer> {
    await this.connection.query(sql.insert, [name, fresh.toString('base64')]);
    const [row] = await this.connection.query<{ value: string }>(sql.read, [name]);
    return Buffer.from(row!.value, 'base64');
  }
}
