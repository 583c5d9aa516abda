/** An entry of a fair queue. */
export interface Queued {
  /** The user of the entry. All entries with null belong to one user. */
  readonly userId: string | null;
  /** Among the entries of one user, those with a higher number go first. */
  readonly priority: number;
  /** The amount of work for the entry, in any unit that all entries share. */
  readonly cost: number;
  /** The user's share beside the weights of other users. Default 1. */
  readonly weight?: number | undefined;
}

interface UserQueue<T> {
  readonly entries: T[];
  /** The virtual time of this user: it grows by the cost of each entry that is taken, divided by the weight. */
  virtual: number;
  /** The weight of the entry that came last. */
  weight: number;
  /** The sum of the costs of the waiting entries. */
  cost: number;
}

const weightOf = ({ weight = 1 }: Queued): number => weight;

/** With more users than this, the queue forgets users without an entry. */
const MANY_USERS = 64;

/**
 * A queue that gives each user a share of the work by weight. A user with a thousand entries does not delay a user with
 * one entry. The entries of one user are ordered by priority, and entries of the same priority by arrival. Source:
 * Goyal, Vin and Cheng, "Start-time fair queueing" (1996).
 */
export class FairQueue<T extends Queued> {
  readonly #users = new Map<string | null, UserQueue<T>>();
  /**
   * The virtual time of the entry that was taken last. A new user begins there, so that a user gains nothing by
   * waiting.
   */
  #virtual = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(entry: T): void {
    const user = this.#userOf(entry);
    let at = user.entries.length;
    while (at > 0 && (user.entries[at - 1] as T).priority < entry.priority) at -= 1;
    this.#insert(user, at, entry);
  }

  /**
   * Returns a taken entry to the queue because no work was done for it. The entry goes before the other entries of its
   * user with the same or a lower priority, and its work does not count as done.
   */
  giveBack(entry: T): void {
    const isKnown = this.#users.has(entry.userId);
    const user = this.#userOf(entry);
    if (isKnown) user.virtual -= entry.cost / weightOf(entry);
    const at = user.entries.findIndex(({ priority }) => priority <= entry.priority);
    this.#insert(user, at < 0 ? user.entries.length : at, entry);
  }

  /** Returns the next entry without taking it; undefined if the queue is empty. */
  peek(): T | undefined {
    return this.#next()?.entries[0];
  }

  /**
   * Takes an entry, and counts its work for its user; undefined if the queue is empty.
   * @param cost the work for the entry as it is known now; by default as it was known when the entry was added
   * @param entry one that is there, perhaps before its turn; by default the next one
   */
  take(cost?: number, entry = this.peek()): T | undefined {
    const user = entry && this.#users.get(entry.userId);
    if (!entry || !user) return undefined;
    this.#virtual = this.#next()?.virtual ?? user.virtual;
    user.virtual += (cost ?? entry.cost) / weightOf(entry);
    this.remove(entry);
    if (this.#users.size > MANY_USERS) this.#forget();
    return entry;
  }

  /** Removes an entry without counting its work. Returns false when it is not there. */
  remove(entry: T): boolean {
    const user = this.#users.get(entry.userId);
    const at = user?.entries.indexOf(entry) ?? -1;
    if (!user || at < 0) return false;
    user.entries.splice(at, 1);
    user.cost -= entry.cost;
    this.#size -= 1;
    // A user who had more than the others stays known. Otherwise users could get to the front by leaving and coming
    // again.
    if (user.entries.length === 0 && user.virtual <= this.#virtual) this.#users.delete(entry.userId);
    if (this.#size === 0) this.#users.clear();
    return true;
  }

  /**
   * Returns the entry that makes room for one of `userId`: the last one of the user with the most entries, if that user
   * has at least two entries more.
   */
  victimFor(userId: string | null): T | undefined {
    let longest: UserQueue<T> | undefined;
    for (const user of this.#users.values()) if (user.entries.length > (longest?.entries.length ?? 0)) longest = user;
    const own = this.#users.get(userId)?.entries.length ?? 0;
    return longest && longest.entries.length > own + 1 ? longest.entries.at(-1) : undefined;
  }

  /**
   * Returns the work that is done before an entry that comes now. Each other user gets at most as much done as this
   * user before it, in proportion to their weights.
   */
  workAhead(entry: Queued): number {
    const { userId, priority, cost } = entry;
    const own = (this.#users.get(userId)?.entries ?? []).reduce(
      (sum, other) => (other.priority >= priority ? sum + other.cost : sum),
      0,
    );
    let work = own;
    for (const [other, user] of this.#users)
      if (other !== userId) work += Math.min(user.cost, ((own + cost) * user.weight) / weightOf(entry));
    return work;
  }

  *[Symbol.iterator](): Generator<T, void, undefined> {
    for (const { entries } of [...this.#users.values()]) yield* [...entries];
  }

  /** Forgets the users without an entry who are not ahead of the others. */
  #forget(): void {
    for (const [userId, { entries, virtual }] of this.#users)
      if (entries.length === 0 && virtual <= this.#virtual) this.#users.delete(userId);
  }

  #userOf(entry: Queued): UserQueue<T> {
    const { userId } = entry;
    const known = this.#users.get(userId);
    if (known) {
      known.weight = weightOf(entry);
      return known;
    }
    const user: UserQueue<T> = { entries: [], virtual: this.#virtual, cost: 0, weight: weightOf(entry) };
    this.#users.set(userId, user);
    return user;
  }

  #insert(user: UserQueue<T>, at: number, entry: T): void {
    user.entries.splice(at, 0, entry);
    user.cost += entry.cost;
    this.#size += 1;
  }

  #next(): UserQueue<T> | undefined {
    let next: UserQueue<T> | undefined;
    for (const user of this.#users.values())
      if (user.entries.length > 0 && (!next || user.virtual < next.virtual)) next = user;
    return next;
  }
}
