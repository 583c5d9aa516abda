import { type Listener, Listeners, type Peers } from '../../data/storage/index.ts';

/** The notifications of processes with one SQLite file, over the links between a controller and its workers. */
export class PeerNotifications implements Peers {
  readonly #listeners = new Listeners();
  /** Sends a notification to the others. Undefined while there are none. */
  send: ((message: string) => void) | undefined;

  tell(message: string): void {
    this.send?.(message);
  }

  listen(listener: Listener): () => void {
    return this.#listeners.add(listener);
  }

  /** Called with a notification of another process. */
  receive(message: string): void {
    this.#listeners.tell(message);
  }
}
