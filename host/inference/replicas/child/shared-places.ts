import type { Clock } from '../../../base/core/clock.ts';
import type { CallPlaces } from '../../rpc/call-server.ts';

/** The places of one connection. */
export interface ConnectionPlaces extends CallPlaces {
  /**
   * Gives up the turn of the connection, which has ended. Its running calls keep their places until they end; `onEnded`
   * is called when they have.
   */
  close(onEnded?: () => void): void;
}

interface Connection {
  running: number;
  /** The number that it was told last. */
  told: number;
  readonly tell: (others: number) => void;
  readonly drained: () => Promise<void> | undefined;
  /** Whether it does not read, so that what it is told would pile up. */
  isBehind: boolean;
  /** Called when a call of a closed connection has ended. */
  onEnd?: () => void;
}

/** Milliseconds for which a place is kept for a connection whose call was refused. It may no longer need it. */
const KEPT_MS = 100;

/**
 * The calls that a replica runs at the same time, for all connections together. Each connection is told the number of
 * calls of the others. When two connections use the last place at once, one of them is refused; the next free place is
 * kept for it, so that connections take turns.
 */
export class SharedPlaces {
  #maxOngoing: number;
  #running = 0;
  #isTelling = false;
  readonly #connections = new Set<Connection>();
  /** Connections with a refused call, in the order of their turns. */
  readonly #refused = new Set<Connection>();
  /** Connections for which a place is kept. */
  readonly #kept = new Map<Connection, AbortController>();
  readonly #clock: Clock;

  constructor(maxOngoing: number, clock: Clock) {
    this.#maxOngoing = maxOngoing;
    this.#clock = clock;
  }

  setBounds(maxOngoing: number): void {
    this.#maxOngoing = maxOngoing;
    this.#keep();
  }

  /**
   * Adds a connection. `tell` is called with the number of calls of the others: at once, and when it has changed, but
   * not while the promise of `drained` is pending.
   */
  connect(tell: (others: number) => void, drained: Connection['drained'] = () => undefined): ConnectionPlaces {
    const connection: Connection = { running: 0, told: 0, tell, drained, isBehind: false };
    this.#connections.add(connection);
    this.#tell(connection);
    return {
      begin: (beyond) => this.#begin(connection, beyond),
      end: () => {
        this.#running -= 1;
        connection.running -= 1;
        connection.onEnd?.();
        this.#keep();
      },
      close: (onEnded) => {
        connection.onEnd = () => {
          if (connection.running === 0) onEnded?.();
        };
        connection.onEnd();
        this.#connections.delete(connection);
        this.#refused.delete(connection);
        this.#letGo(connection);
        this.#keep();
      },
    };
  }

  #begin(connection: Connection, beyond: boolean): boolean {
    const kept = this.#kept.size - (this.#kept.has(connection) ? 1 : 0);
    if (!beyond && this.#running + kept >= this.#maxOngoing) {
      this.#refused.add(connection);
      if (this.#othersOf(connection) !== connection.told) this.#tell(connection); // before it learns of the refusal
      return false;
    }
    this.#refused.delete(connection);
    this.#letGo(connection);
    this.#running += 1;
    connection.running += 1;
    this.#tellLater();
    return true;
  }

  /** Keeps free places for those whose calls were refused. */
  #keep(): void {
    for (const connection of this.#refused) {
      if (this.#running + this.#kept.size >= this.#maxOngoing) break;
      this.#refused.delete(connection);
      if (!this.#kept.has(connection)) void this.#keepFor(connection);
    }
    this.#tellLater();
  }

  async #keepFor(connection: Connection): Promise<void> {
    const taken = new AbortController();
    this.#kept.set(connection, taken);
    await this.#clock.delay(KEPT_MS, taken.signal).catch(() => {});
    if (taken.signal.aborted) return;
    this.#kept.delete(connection);
    this.#keep();
  }

  #letGo(connection: Connection): void {
    this.#kept.get(connection)?.abort();
    this.#kept.delete(connection);
  }

  #othersOf(connection: Connection): number {
    const kept = this.#kept.size - (this.#kept.has(connection) ? 1 : 0);
    return this.#running - connection.running + kept;
  }

  /** Tells the changes of one turn of the event loop at its end. */
  #tellLater(): void {
    if (this.#isTelling || !this.#isShared) return;
    this.#isTelling = true;
    setImmediate(() => {
      this.#isTelling = false;
      for (const connection of this.#connections)
        if (!connection.isBehind && this.#othersOf(connection) !== connection.told) this.#tell(connection);
    });
  }

  /** Whether a connection may have to be told something. A replica of one host is spared the work. */
  get #isShared(): boolean {
    const [first] = this.#connections;
    return this.#connections.size > 1 || (first !== undefined && this.#othersOf(first) !== first.told);
  }

  #tell(connection: Connection): void {
    connection.told = this.#othersOf(connection);
    connection.tell(connection.told);
    const drained = connection.isBehind ? undefined : connection.drained();
    if (drained) void this.#whenDrained(connection, drained);
  }

  async #whenDrained(connection: Connection, drained: Promise<void>): Promise<void> {
    connection.isBehind = true;
    await drained;
    connection.isBehind = false;
    this.#tellLater();
  }
}
