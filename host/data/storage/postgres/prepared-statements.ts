import { createHash } from 'node:crypto';
import type { Client } from 'pg';

/** Statements that a connection keeps prepared. The server has some tens of kilobytes for each. */
const MOST = 400;

/** What `pg` remembers of the statements that it has prepared. */
interface Remembered {
  readonly connection: { readonly parsedStatements: Record<string, string> };
}

const ofClients = new WeakMap<Client, PreparedStatements>();

/** The statements that are prepared on a connection: the last ones that were used. */
export class PreparedStatements {
  readonly #client: Client;
  /** Names by texts, the one that was not used for the longest time first. */
  readonly #names = new Map<string, string>();

  private constructor(client: Client) {
    this.#client = client;
  }

  static of(client: Client): PreparedStatements {
    const known = ofClients.get(client);
    if (known) return known;
    const made = new PreparedStatements(client);
    ofClients.set(client, made);
    return made;
  }

  /** Returns the name under which a statement is prepared, which is sent with it. */
  use(text: string): string {
    const name = this.#names.get(text) ?? createHash('sha256').update(text).digest('hex').slice(0, 32);
    this.#names.delete(text);
    this.#names.set(text, name);
    return name;
  }

  /** If there are too many, returns what makes the server forget one. It must be sent outside of a transaction. */
  forgetOne(): string | undefined {
    const [oldest] = this.#names;
    if (oldest === undefined || this.#names.size <= MOST) return undefined;
    const [text, name] = oldest;
    this.#names.delete(text);
    delete (this.#client as unknown as Remembered).connection.parsedStatements[name];
    return `deallocate "${name}"`;
  }
}
