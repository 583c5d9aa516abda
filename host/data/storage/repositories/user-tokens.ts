import { loadStatements, Repository } from '../statements.ts';

const sql = loadStatements('user-tokens', ['read', 'add', 'prune']);

interface Row {
  readonly name: string;
  readonly tokens: number | string;
}

const countsOf = (rows: readonly Row[]): Map<string, number> =>
  new Map(rows.map(({ name, tokens }) => [name, Number(tokens)]));

/** Tokens that callers have used in a calendar month, on all hosts. A month is a text such as `2026-11`. */
export class UserTokenRepository extends Repository {
  /** Returns the tokens of callers that have used any. */
  async read(month: string, names: readonly string[]): Promise<Map<string, number>> {
    return countsOf(await this.connection.query<Row>(sql.read, [month, JSON.stringify(names)]));
  }

  /** Adds tokens of callers, each of which is named once. Returns their tokens of the month. Removes earlier months. */
  async add(
    month: string,
    added: readonly { readonly name: string; readonly tokens: number }[],
  ): Promise<Map<string, number>> {
    const ordered = added.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const rows = await this.connection.query<Row>(sql.add, [month, JSON.stringify(ordered)]);
    await this.connection.query(sql.prune, [month]);
    return countsOf(rows);
  }
}
