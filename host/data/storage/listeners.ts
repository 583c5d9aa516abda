import type { Logger } from '../../base/core/log/logger.ts';

export type Listener = (message: string) => void;

/** The other processes of a database that cannot notify them itself, which is SQLite. */
export interface Peers {
  /** Tells them of a notification. */
  tell(message: string): void;
  /** Calls the listener with their notifications. The returned function ends this. */
  listen(listener: Listener): () => void;
}

/** The listeners to notifications of transactions. */
export class Listeners {
  readonly #listeners = new Set<Listener>();
  readonly #log: Logger | undefined;

  constructor(log?: Logger) {
    this.#log = log;
  }

  add(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(message: string): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(message);
      } catch (error) {
        this.#log?.error('a listener of the database failed', { error });
      }
    }
  }
}
