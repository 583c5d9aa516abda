import type { SpanAttributes } from '../../base/core/telemetry.ts';
import type { Connection } from './database.ts';

/** Most statements of a span's summary. */
const MOST = 8;
/** `from json_each(…)` reads no table. */
const VERB = /\b(INSERT\s+INTO|UPDATE|DELETE\s+FROM|FROM(?!\s+\w+\())\s+"?(\w+)/i;

/** Notes what the statements of one piece of work do. Values and conditions are left out. */
export class QuerySummary {
  readonly #statements = new Set<string>();
  readonly #tables = new Set<string>();

  /** Returns a connection whose statements are noted. */
  observe(connection: Connection): Connection {
    return {
      dialect: connection.dialect,
      now: () => connection.now(),
      query: (statement, values) => {
        this.#note(typeof statement === 'string' ? statement : statement[connection.dialect]);
        return connection.query(statement, values);
      },
      script: (sql) => connection.script(sql),
      notify: (message) => connection.notify(message),
      notifyHere: (message) => connection.notifyHere(message),
      loadVectors: () => connection.loadVectors(),
      keptVectors: connection.keptVectors,
      foundCollections: connection.foundCollections,
    };
  }

  /** Returns the kinds of statements and their tables, such as `SELECT tasks; UPDATE tasks`. */
  toString(): string {
    return [...this.#statements].join('; ');
  }

  /** Returns the attributes of a span. The table is named if all statements concern the same one. */
  attributes(): SpanAttributes {
    const [table] = this.#tables;
    return {
      'db.query.summary': this.toString(),
      ...(table !== undefined && this.#tables.size === 1 && { 'db.collection.name': table }),
    };
  }

  #note(sql: string): void {
    if (this.#statements.size >= MOST) return;
    const [, words = '', table = ''] = VERB.exec(sql) ?? [];
    const verb = words.toUpperCase().split(/\s/)[0] ?? '';
    if (table === '') return;
    this.#tables.add(table);
    this.#statements.add(`${verb === 'FROM' ? 'SELECT' : verb} ${table}`);
  }
}
