/** A file that a user has by a URL. */
export interface CacheEntry {
  /** Whose it is, and of which URL: names that are equal only for the same ones. */
  readonly user: string;
  readonly url: string;
  readonly sha256: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly usedAt: number;
}

export interface CacheLimits {
  /** Bytes of all files. A file that several users have counts once. */
  readonly maxBytes: number;
  /** Bytes of the files of one user. A file counts for each of its URLs. */
  readonly maxUserBytes: number;
}

/** Each file counts at least as much, so that the limits bound the number of files and the memory of the index, too. */
const LEAST_BYTES = 64 * 1024;

const counted = (bytes: number): number => Math.max(LEAST_BYTES, bytes);

/** The entries of one user by their URL. The first one was used least recently. */
interface Owned {
  bytes: number;
  readonly entries: Map<string, CacheEntry>;
}

interface File {
  readonly bytes: number;
  /** Number of entries that have it. */
  uses: number;
}

/** What a cache of files holds, and what has to go. Does no I/O. */
export class CacheIndex {
  readonly #limits: CacheLimits;
  readonly #users = new Map<string, Owned>();
  /** Those of all users. The first one was used least recently. */
  readonly #entries = new Set<CacheEntry>();
  readonly #files = new Map<string, File>();
  #bytes = 0;

  constructor(limits: CacheLimits) {
    this.#limits = limits;
  }

  /** Bytes of all files, as they count for the limit. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Returns whether a file of so many bytes can be kept at all. */
  hasRoomFor(bytes: number): boolean {
    return counted(bytes) <= Math.min(this.#limits.maxBytes, this.#limits.maxUserBytes);
  }

  /** Returns whether an entry has the file. */
  hasFile(sha256: string): boolean {
    return this.#files.has(sha256);
  }

  /** Adds the entry that was used last of all, in place of one with the same user and URL. */
  put(entry: CacheEntry): void {
    const file = this.#files.get(entry.sha256);
    if (file) file.uses += 1;
    else {
      this.#files.set(entry.sha256, { bytes: counted(entry.bytes), uses: 1 });
      this.#bytes += counted(entry.bytes);
    }
    this.remove(entry.user, entry.url);
    const owned = this.#users.get(entry.user) ?? { bytes: 0, entries: new Map<string, CacheEntry>() };
    this.#users.set(entry.user, owned);
    owned.entries.set(entry.url, entry);
    this.#entries.add(entry);
    owned.bytes += counted(entry.bytes);
  }

  /** Notes that an entry was used last of all, if it is there. */
  use(user: string, url: string, usedAt: number): void {
    const entry = this.#users.get(user)?.entries.get(url);
    if (entry) this.put({ ...entry, ...{ usedAt } });
  }

  /** Removes an entry, if it is there. */
  remove(user: string, url: string): void {
    const owned = this.#users.get(user);
    const entry = owned?.entries.get(url);
    if (!owned || !entry) return;
    owned.entries.delete(url);
    this.#entries.delete(entry);
    owned.bytes -= counted(entry.bytes);
    if (owned.entries.size === 0) this.#users.delete(user);
    const file = this.#files.get(entry.sha256)!;
    file.uses -= 1;
    if (file.uses > 0) return;
    this.#files.delete(entry.sha256);
    this.#bytes -= file.bytes;
  }

  /**
   * Removes the entries that were used least recently: of each user beyond their limit, and of all until the files
   * have at most `maxBytes`, if that is less than their limit. Returns what it removed.
   */
  evict(maxBytes: number = this.#limits.maxBytes): CacheEntry[] {
    const removed: CacheEntry[] = [];
    // In one pass, because a search for the first entry passes the places of those that were removed.
    const drop = (entries: Iterable<CacheEntry>, isOver: () => boolean): void => {
      for (const entry of entries) {
        if (!isOver()) return;
        removed.push(entry);
        this.remove(entry.user, entry.url);
      }
    };
    const most = Math.max(0, Math.min(maxBytes, this.#limits.maxBytes));
    for (const owned of this.#users.values())
      drop(owned.entries.values(), () => owned.bytes > this.#limits.maxUserBytes);
    drop(this.#entries, () => this.#bytes > most);
    return removed;
  }
}
